import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Inject,
  Param,
  Post,
  Req,
  Res,
  StreamableFile,
} from '@nestjs/common';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Trajectory } from '@ui-rl/contracts';
import { ApiError, Fields } from '@ui-rl/openai-api';
import { DEADLINES, waitAtMost } from '@ui-rl/retry';
import type { AgentSession } from './agent-session';
import { AgentSessions } from './agent-sessions';

const LONGEST_WAIT_S = 300;

/** Opens, operates and ends the sessions of outside agents. */
@Controller('sessions')
export class SessionsController {
  constructor(@Inject(AgentSessions) private readonly sessions: AgentSessions) {}

  /**
   * Waits for the next episode of a run and opens a session for it: `{run?, environment?: "service" | "own",
   * wait_seconds?}`. 503 if none came in time.
   */
  @Post()
  @HttpCode(201)
  async open(
    @Body() body: unknown,
    @Req() request: IncomingMessage,
    @Res({ passthrough: true }) response: ServerResponse,
  ): Promise<object> {
    const fields = Fields.of(body ?? {});
    const run = fields.text('run');
    const environment = fields.text('environment') ?? 'service';
    if (environment !== 'service' && environment !== 'own') {
      throw new ApiError(400, 'environment: expected service or own', 'invalid_value', 'environment');
    }
    const waitSeconds = fields.number('wait_seconds', { min: 0, max: LONGEST_WAIT_S }) ?? 30;
    fields.end();
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const session = await this.sessions.runOf(run).claim({ environment }, waitSeconds * 1_000, gone.signal);
    if (session !== undefined) return described(session, request);
    throw new ApiError(503, `no episode was asked for within ${waitSeconds} s: ask again`, 'no_episode');
  }

  @Get(':id')
  find(@Param('id') id: string, @Req() request: IncomingMessage): object {
    return described(this.sessions.sessionOf(id), request);
  }

  /** The current screen of the session's environment: PNG. */
  @Get(':id/screenshot')
  @Header('Content-Type', 'image/png')
  screenshot(@Param('id') id: string): StreamableFile {
    const { screenshot } = this.sessions.sessionOf(id);
    if (screenshot !== undefined) return new StreamableFile(screenshot.png);
    throw new ApiError(404, 'the session has no environment: the agent brings its own', 'no_environment');
  }

  /** Executes actions in the session's environment: `{actions: [{action: "click", x, y} …]}`. */
  @Post(':id/actions')
  @HttpCode(200)
  async act(@Param('id') id: string, @Body() body: unknown): Promise<object> {
    const fields = Fields.of(body);
    const actions = fields.list('actions', 64);
    if (actions === undefined || actions.length === 0) throw fields.missing('actions');
    fields.end();
    const session = this.sessions.sessionOf(id);
    return { ...(await session.act(actions)), ...screenOf(session) };
  }

  /**
   * Ends the episode and judges it: `{state?}`, reported by an agent with its own environment. Answers when the
   * trajectory is stored.
   */
  @Post(':id/end')
  @HttpCode(200)
  async end(@Param('id') id: string, @Body() body: unknown): Promise<object> {
    const fields = Fields.of(body ?? {});
    const state = fields.raw('state');
    if (state !== undefined) Fields.of(state, 'state');
    fields.end();
    const session = this.sessions.sessionOf(id);
    const played = await session.end(state as Record<string, unknown> | undefined);
    await waitAtMost(DEADLINES.publish.ms * 3, session.isPublished);
    return judged(id, played);
  }

  /** Abandons the episode: it is discarded, and played again. */
  @Delete(':id')
  async giveUp(@Param('id') id: string): Promise<object> {
    this.sessions.sessionOf(id).giveUp('gave the session up');
    return { id, status: 'invalid' };
  }
}

function described(session: AgentSession, { headers }: IncomingMessage): object {
  const { id, request, task, maxTurns, calls } = session;
  const { runId, rolloutId, purpose, seed } = request;
  return {
    id,
    object: 'session',
    base_url: `http://${headers.host}/sessions/${id}/v1`,
    // Anthropic's clients add `/v1` themselves.
    anthropic_base_url: `http://${headers.host}/sessions/${id}`,
    model: 'latest',
    run: runId,
    rollout: rolloutId,
    purpose,
    task,
    seed,
    max_turns: maxTurns,
    calls,
    ...screenOf(session),
  };
}

/** The agent's view of its environment, with the screen's text if the environment reports it. */
function screenOf(session: AgentSession): { screenshot: string | null; screen_text?: string } {
  const text = session.screenshot?.text;
  return { screenshot: dataUrl(session), screen_text: text };
}

function dataUrl({ screenshot }: AgentSession): string | null {
  return screenshot === undefined
    ? null
    : `data:image/png;base64,${Buffer.from(screenshot.png).toString('base64')}`;
}

function judged(id: string, { status, success, reward, rewards, turns, invalidReason }: Trajectory): object {
  return {
    id,
    object: 'session',
    status,
    success,
    reward,
    rewards,
    turns: turns.length,
    reason: invalidReason,
  };
}
