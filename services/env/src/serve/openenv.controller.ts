import type { IncomingMessage, ServerResponse } from 'node:http';
import { All, Body, Controller, Get, HttpCode, Inject, Post, Query, Req, Res } from '@nestjs/common';
import { isRecord } from '@ui-rl/plugin-kit';
import { ServedEpisodes } from './episodes';
import { answerRpc, RPC, rpcError } from './json-rpc';
import { McpEndpoint } from './mcp';
import { observe, SCHEMAS, stateOf, type Observed } from './observation';
import { openApi } from './open-api';
import { ServeError } from './serve-error';
import { playStep, type Stepped } from './step';
import { readWish } from './wish';

/** Id of the episode for clients that send none. */
const DEFAULT = '(http)';
/** Separates HTTP ids from those of WebSockets. */
const idOf = (episodeId: string | undefined): string =>
  episodeId === undefined ? DEFAULT : `http/${episodeId}`;

/** OpenEnv's endpoints for metadata and tools. */
@Controller()
export class OpenEnvController {
  constructor(
    @Inject(ServedEpisodes) protected readonly episodes: ServedEpisodes,
    @Inject(McpEndpoint) private readonly endpoint: McpEndpoint,
  ) {}

  /** Health check. */
  @Get('health')
  health(): object {
    return { status: 'healthy' };
  }

  /** Metadata of the served environment. */
  @Get('metadata')
  metadata(): object {
    const { tasks, run } = this.episodes.world;
    return {
      name: `ui-rl ${run.environment.kind.name}`,
      description: `${tasks.length} tasks on user interfaces, operated by pointer and keyboard and judged by their end states.`,
      version: '1.0.0',
      author: null,
      readme_content: null,
      documentation_url: null,
    };
  }

  /** JSON Schemas of actions, observations and states. */
  @Get('schema')
  schema(): object {
    return SCHEMAS;
  }

  /** The OpenAPI description of this API. */
  @Get('openapi.json')
  openApi(): object {
    return openApi(this instanceof SimulationController);
  }

  /**
   * The Model Context Protocol; for clients of OpenEnv JSON-RPC: `tools/list`, `tools/call`, `openenv/session/create`,
   * `openenv/session/close`.
   */
  @All('mcp')
  async mcp(
    @Req() request: IncomingMessage & { body?: unknown; wasNoJson?: boolean },
    @Res() response: ServerResponse & { json(body: object): void },
  ): Promise<void> {
    const { body, wasNoJson } = request;
    if (wasNoJson === true) response.json(rpcError(null, RPC.parse, 'Parse error'));
    else if (McpEndpoint.isFor(request)) await this.endpoint.answer(request, body, response);
    else response.json(await answerRpc(body, this.episodes));
  }
}

/** Adds `/reset`, `/step` and `/state`, which servers in production mode do not have. */
@Controller()
export class SimulationController extends OpenEnvController {
  constructor(@Inject(ServedEpisodes) episodes: ServedEpisodes, @Inject(McpEndpoint) endpoint: McpEndpoint) {
    super(episodes, endpoint);
  }

  /** Starts an episode: `{seed?, task_id?, episode_id?}`. All clients without `episode_id` share one. */
  @Post('reset')
  @HttpCode(200)
  async reset(@Body() body: unknown): Promise<Observed> {
    const wish = readWish(body ?? {});
    return observe(await this.episodes.begin(idOf(wish.episodeId), wish));
  }

  /** Executes an action: `{action, episode_id?}`. */
  @Post('step')
  @HttpCode(200)
  step(@Body() body: unknown): Promise<Stepped> {
    if (!isRecord(body) || !isRecord(body.action)) {
      throw new ServeError('bad_request', 'expected {"action": {…}}', 'action');
    }
    return playStep(() => this.episodes.get(idOf(textOf(body.episode_id))), body.action);
  }

  /** The state of the episode. */
  @Get('state')
  state(@Query('episode_id') episodeId: unknown): Promise<object> {
    return stateOf(this.episodes.find(idOf(textOf(episodeId))));
  }
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new ServeError('bad_request', 'expected a text', 'episode_id');
}
