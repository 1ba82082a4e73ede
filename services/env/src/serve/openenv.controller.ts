import { Body, Controller, Get, HttpCode, Inject, Post, Query, Req } from '@nestjs/common';
import { isRecord } from '@ui-rl/plugin-kit';
import { ServedEpisodes } from './episodes';
import { answerRpc, RPC, rpcError } from './json-rpc';
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
  constructor(@Inject(ServedEpisodes) protected readonly episodes: ServedEpisodes) {}

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

  /** JSON-RPC: `tools/list`, `tools/call`, `openenv/session/create`, `openenv/session/close`. */
  @Post('mcp')
  @HttpCode(200)
  mcp(@Req() { body, wasNoJson }: { body?: unknown; wasNoJson?: boolean }): object | Promise<object> {
    return wasNoJson === true ? rpcError(null, RPC.parse, 'Parse error') : answerRpc(body, this.episodes);
  }
}

/** Adds `/reset`, `/step` and `/state`, which servers in production mode do not have. */
@Controller()
export class SimulationController extends OpenEnvController {
  constructor(@Inject(ServedEpisodes) episodes: ServedEpisodes) {
    super(episodes);
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
