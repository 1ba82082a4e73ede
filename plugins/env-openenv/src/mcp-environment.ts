import { isRecord, OutsideError, outsideText, type OutsideServer } from '@ui-rl/plugin-kit';
import { recordOf, shown, type Observed, type RemoteEnvironment } from './remote';

export interface ToolCall {
  name: string;
  arguments?: Record<string, unknown>;
}

/** JSON-RPC error code. */
const INVALID_PARAMS = -32_602;
const SERVER_ERROR = -32_000;

/** Uses `/mcp`: a session whose tools are called. An action is `{name, arguments}`. */
export class McpEnvironment implements RemoteEnvironment {
  private calls = 0;
  private sessionId: string | undefined;
  private last: Record<string, unknown> = {};

  constructor(
    private readonly server: OutsideServer,
    private readonly firstCall: ToolCall | undefined,
  ) {}

  async reset(seed: number, options: Record<string, unknown>, signal: AbortSignal): Promise<Observed> {
    const created = recordOf(
      await this.ask('openenv/session/create', { ...options, seed }, signal),
      this.server.address,
    );
    if (typeof created.session_id !== 'string') throw this.strange(created, 'session_id');
    this.sessionId = created.session_id;
    if (this.firstCall !== undefined) return this.call(this.firstCall, signal);
    const { tools } = recordOf(await this.ask('tools/list', this.session, signal), this.server.address);
    return this.observed({ tools });
  }

  async step(action: Record<string, unknown>, signal: AbortSignal): Promise<Observed | null> {
    try {
      return await this.call(action as unknown as ToolCall, signal);
    } catch (error) {
      if (error instanceof RpcError && error.number === INVALID_PARAMS) return null;
      throw error;
    }
  }

  async state(): Promise<Record<string, unknown>> {
    return { calls: this.calls, result: this.last };
  }

  async close(signal: AbortSignal): Promise<void> {
    if (this.sessionId !== undefined) await this.ask('openenv/session/close', this.session, signal);
  }

  private get session(): Record<string, unknown> {
    return { session_id: this.sessionId };
  }

  private async call({ name, arguments: given = {} }: ToolCall, signal: AbortSignal): Promise<Observed> {
    const result = await this.ask('tools/call', { ...this.session, name, arguments: given }, signal);
    this.calls += 1;
    return this.observed(isRecord(result) ? readResult(result) : { result });
  }

  private observed(observation: Record<string, unknown>): Observed {
    const { screenshot: _picture, reward, done, ...rest } = observation;
    this.last = {
      ...rest,
      reward,
      done,
    };
    return { observation, reward: typeof reward === 'number' ? reward : 0, done: done === true };
  }

  private async ask(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    const body = { jsonrpc: '2.0', id: ++ids, method, params };
    const answer = recordOf(
      await this.server.getJson('/mcp', { method: 'POST', body, signal }),
      this.server.address,
    );
    if (answer.jsonrpc !== '2.0') throw this.strange(answer, 'jsonrpc');
    if (isRecord(answer.error)) throw this.errorOf(method, answer.error);
    return answer.result;
  }

  private errorOf(method: string, { code, message, data }: Record<string, unknown>): RpcError {
    const isFull = code === SERVER_ERROR && isRecord(data) && 'max_sessions' in data;
    const said = `${this.server.address}/mcp says ${String(code)} to ${method}: ${outsideText(String(message))}`;
    return new RpcError(isFull ? 'capacity' : 'crashed', said, Number(code));
  }

  private strange(answer: unknown, expected: string): OutsideError {
    return new OutsideError(
      'crashed',
      `${this.server.address}/mcp answered ${shown(answer)}, expected "${expected}"`,
    );
  }
}

let ids = 0;

class RpcError extends OutsideError {
  constructor(
    code: 'capacity' | 'crashed',
    message: string,
    readonly number: number,
  ) {
    super(code, message);
  }
}

/** A tool's result: its `structuredContent` (or FastMCP's `data`), its texts, and its picture as `screenshot`. */
export function readResult(result: Record<string, unknown>): Record<string, unknown> {
  const content = Array.isArray(result.content) ? result.content.filter(isRecord) : [];
  const texts = content.flatMap(({ type, text }) =>
    type === 'text' && typeof text === 'string' ? [text] : [],
  );
  const image = content.find(({ type, data }) => type === 'image' && typeof data === 'string');
  const structured = [result.structuredContent, result.structured_content].find(isRecord) ?? {};
  const isBare = content.length === 0 && Object.keys(structured).length === 0;
  return {
    ...(isBare ? result : structured),
    ...(texts.length === 0 ? {} : { text: texts.join('\n') }),
    ...(image === undefined ? {} : { screenshot: image.data }),
    ...(result.isError === true || result.is_error === true ? { is_error: true } : {}),
  };
}
