import { randomUUID } from 'node:crypto';
import { isRecord } from '@ui-rl/plugin-kit';
import type { ServedEpisode } from './episode';
import type { ServedEpisodes } from './episodes';
import { ServeError } from './serve-error';
import { callTool, TOOLS } from './tools';
import { readWish } from './wish';

/** Error codes of JSON-RPC 2.0. */
export const RPC = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  server: -32_000,
} as const;

type Id = string | number | null;
export type RpcReply = Readonly<Record<string, unknown>>;

/** The environment of a WebSocket; over HTTP there is none. */
export interface OwnEpisode {
  id: string;
  /** Started with the first call that needs it. */
  episode(): Promise<ServedEpisode>;
}

interface Call {
  params: Record<string, unknown>;
  episodes: ServedEpisodes;
  own: OwnEpisode | undefined;
}

const METHODS: Readonly<Record<string, (call: Call) => unknown>> = {
  'tools/list': () => ({ tools: TOOLS }),
  'tools/call': async (call) => callTool(await episodeOf(call), call.params.name, call.params.arguments),
  'openenv/session/create': async ({ params, episodes, own }) => {
    if (own !== undefined) return { session_id: own.id };
    const id = randomUUID();
    await episodes.begin(id, { ...readWish(params), episodeId: undefined });
    return { session_id: id };
  },
  'openenv/session/close': async ({ params, episodes, own }) => {
    const { session_id: id } = params;
    if (typeof id !== 'string') throw new ServeError('bad_request', "'session_id' is required");
    if (own?.id === id) throw new InvalidRequest('the session of a WebSocket ends with the WebSocket');
    if (!(await episodes.end(id)))
      throw new ServeError('bad_request', `unknown session_id: ${id.slice(0, 100)}`);
    return { session_id: id, closed: true };
  },
};

/** Answers a request of JSON-RPC: `tools/list`, `tools/call`, `openenv/session/create`, `openenv/session/close`. Never throws. */
export async function answerRpc(
  request: unknown,
  episodes: ServedEpisodes,
  own?: OwnEpisode,
): Promise<RpcReply> {
  const id = isRecord(request) && isId(request.id) ? request.id : null;
  const problem = problemOf(request);
  if (problem !== null) return rpcError(id, RPC.invalidRequest, `Invalid request: ${problem}`);
  const { method, params = {} } = request as { method: string; params?: unknown };
  if (!isRecord(params)) return rpcError(id, RPC.invalidParams, 'Params must be an object');
  if (!Object.hasOwn(METHODS, method))
    return rpcError(id, RPC.methodNotFound, `Method not found: ${method.slice(0, 100)}`);
  try {
    return { jsonrpc: '2.0', id, result: await METHODS[method]({ params, episodes, own }) };
  } catch (error) {
    return failureOf(id, error, episodes);
  }
}

export function rpcError(id: Id, code: number, message: string, data?: unknown): RpcReply {
  return { jsonrpc: '2.0', id, error: { code, message, data } };
}

class InvalidRequest extends Error {}

function failureOf(id: Id, error: unknown, { world }: ServedEpisodes): RpcReply {
  if (error instanceof InvalidRequest) return rpcError(id, RPC.invalidRequest, error.message);
  if (!(error instanceof ServeError)) throw error;
  const { code, field, message } = error;
  const said = field === undefined ? message : `${field}: ${message}`;
  if (code === 'capacity') return rpcError(id, RPC.server, said, { max_sessions: world.maxSessions });
  if (code === 'failed') return rpcError(id, RPC.internal, said);
  return rpcError(id, RPC.invalidParams, said);
}

function episodeOf({ params, episodes, own }: Call): ServedEpisode | Promise<ServedEpisode> {
  const { session_id: id } = params;
  if (own !== undefined && (id === undefined || id === own.id)) return own.episode();
  if (typeof id !== 'string') {
    throw new ServeError('bad_request', "'session_id' is required: openenv/session/create gives one");
  }
  const found = episodes.find(id);
  if (found !== undefined) return found;
  throw new ServeError('bad_request', `unknown session_id: ${id.slice(0, 100)}`);
}

function problemOf(request: unknown): string | null {
  if (!isRecord(request)) return 'expected an object';
  if (request.jsonrpc !== '2.0') return 'expected "jsonrpc": "2.0"';
  if (typeof request.method !== 'string') return 'expected "method", a text';
  if (request.id !== undefined && !isId(request.id)) return 'expected "id", a text or a number';
  const unknown = Object.keys(request).find((key) => !['jsonrpc', 'method', 'params', 'id'].includes(key));
  return unknown === undefined ? null : `"${unknown.slice(0, 100)}" is not known`;
}

function isId(value: unknown): value is Id {
  return value === null || typeof value === 'string' || typeof value === 'number';
}
