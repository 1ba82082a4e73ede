import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { answerPings, sendText } from '@ui-rl/openai-api';
import { isRecord } from '@ui-rl/plugin-kit';
import type { WebSocket } from 'ws';
import type { ServedEpisode } from './episode';
import type { ServedEpisodes } from './episodes';
import { answerRpc, RPC, rpcError, type OwnEpisode } from './json-rpc';
import { observe, stateOf } from './observation';
import { ServeError } from './serve-error';
import { playStep } from './step';
import { readWish } from './wish';

/** Maximum number of queued messages: a client that sends more does not wait for answers. */
const MAX_WAITING = 16;
const CLOSED = { normal: 1000, policy: 1008 } as const;

const logger = new Logger('env:served');

/** Each socket has one environment. Its messages are answered in order. */
export abstract class EnvironmentSocket {
  protected readonly id = randomUUID();
  private line: Promise<void> = Promise.resolve();
  private waiting = 0;
  private idle: NodeJS.Timeout | undefined;

  constructor(
    private readonly socket: WebSocket,
    protected readonly episodes: ServedEpisodes,
  ) {}

  listen(): void {
    const { socket } = this;
    answerPings(socket);
    socket.on('message', (data, isBinary) => {
      const text = isBinary ? '' : (data as Buffer).toString();
      if (socket.readyState !== socket.OPEN) return;
      this.waiting += 1;
      if (this.waiting > MAX_WAITING) return socket.close(CLOSED.policy, 'wait for answers');
      clearTimeout(this.idle);
      this.line = this.line
        .then(() => this.take(text))
        .catch((error: unknown) => {
          logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
          socket.terminate();
        });
    });
    socket.on('error', () => socket.terminate());
    socket.on('close', () => {
      clearTimeout(this.idle);
      void this.line.then(() => this.episodes.end(this.id));
    });
    this.rest();
  }

  /** The answer to a message; null closes the socket. */
  protected abstract answer(text: string): Promise<object | null>;
  /** The answer after an internal failure. */
  protected abstract internal(): object;

  protected begin(wish: unknown): Promise<ServedEpisode> {
    return this.episodes.begin(this.id, readWish(wish));
  }

  /** For tool calls, which have no reset. */
  protected get own(): OwnEpisode {
    const { id } = this;
    return { id, episode: async () => this.episodes.find(id) ?? this.begin({}) };
  }

  private async take(text: string): Promise<void> {
    if (this.socket.readyState !== this.socket.OPEN) return;
    const answer = await this.answer(text).catch((error: unknown) => {
      logger.error(error instanceof Error ? (error.stack ?? error.message) : String(error));
      return this.internal();
    });
    this.waiting -= 1;
    if (answer === null) this.socket.close(CLOSED.normal);
    else sendText(this.socket, JSON.stringify(answer));
    this.rest();
  }

  /** Restarts the idle timer, which closes the socket like its session. */
  private rest(): void {
    clearTimeout(this.idle);
    const { lease_ms: leaseMs } = this.episodes.world.run.environment;
    this.idle = setTimeout(() => this.socket.close(CLOSED.policy, `idle for ${leaseMs} ms`), leaseMs);
    this.idle.unref();
  }
}

/** JSON-RPC: `/mcp`. */
export class RpcSocket extends EnvironmentSocket {
  protected async answer(text: string): Promise<object> {
    const request = parse(text);
    if (request === undefined) return rpcError(null, RPC.parse, 'Parse error');
    return answerRpc(request, this.episodes, this.own);
  }

  protected internal(): object {
    return rpcError(null, RPC.internal, 'the request failed by no fault of the caller');
  }
}

type Data = Record<string, unknown>;

/** OpenEnv's messages: `/ws`. */
export class OpenEnvSocket extends EnvironmentSocket {
  protected async answer(text: string): Promise<object | null> {
    const message = parse(text);
    if (message === undefined) return wsError('INVALID_JSON', 'Invalid JSON');
    try {
      return await this.reply(message);
    } catch (error) {
      if (!(error instanceof ServeError)) throw error;
      return errorOf(error);
    }
  }

  protected internal(): object {
    return wsError('EXECUTION_ERROR', 'the request failed by no fault of the caller');
  }

  private async reply(message: unknown): Promise<object | null> {
    if (!isRecord(message)) throw new ServeError('bad_request', 'expected an object');
    const { type, data, ...unknown } = message;
    const [key] = Object.keys(unknown);
    if (key !== undefined) throw new ServeError('bad_request', `"${key.slice(0, 100)}" is not known`);
    switch (type) {
      case 'reset':
        return { type: 'observation', data: observe(await this.begin(data ?? {})) };
      case 'step':
        return { type: 'observation', data: await playStep(() => this.running(), recordOf(data)) };
      case 'state':
        return { type: 'state', data: await stateOf(this.episodes.find(this.id)) };
      case 'mcp':
        return { type: 'mcp', data: await answerRpc(recordOf(data), this.episodes, this.own) };
      case 'close':
        return null;
      default:
        return wsError(
          'UNKNOWN_TYPE',
          `Unknown message type: ${typeof type === 'string' ? type.slice(0, 100) : typeof type}`,
        );
    }
  }

  private running(): ServedEpisode {
    const episode = this.episodes.find(this.id);
    if (episode !== undefined) return episode;
    throw new ServeError('not_found', 'there is no episode: reset');
  }
}

export function wsError(code: string, message: string, more: object = {}): object {
  return { type: 'error', data: { message, code, ...more } };
}

function errorOf({ code, field, message }: ServeError): object {
  if (code === 'bad_request') {
    const errors = [{ type: 'value_error', loc: field === undefined ? [] : [field], msg: message }];
    return wsError('VALIDATION_ERROR', 'Invalid message', { errors });
  }
  if (code === 'capacity') return wsError('CAPACITY_REACHED', message);
  return wsError(code === 'not_found' ? 'SESSION_ERROR' : 'EXECUTION_ERROR', message);
}

function recordOf(data: unknown): Data {
  if (isRecord(data)) return data;
  throw new ServeError('bad_request', 'expected an object', 'data');
}

/** Undefined for invalid JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
