import {
  isRecord,
  OutsideError,
  outsideText,
  type EnvironmentContext,
  type OutsideServer,
} from '@ui-rl/plugin-kit';
import {
  Client,
  ProtocolError,
  StreamableHTTPClientTransport,
  type FetchLike,
} from '@modelcontextprotocol/client';
import { filled, ownTools, templateFormat, type ActionFormat } from './action-format';
import { readResult, type ToolCall } from './mcp-environment';
import type { McpOptions } from './options';
import type { Observed, RemoteEnvironment } from './remote';
import { RemoteEnvironments, soon } from './remote-environments';

/** Environment variables of the machine: allowed servers, and their keys. */
export const MCP_VARIABLES = { servers: 'MCP_SERVERS', keys: 'MCP_KEYS' } as const;

/** Environments that are operated by tools of MCP servers, versions 2025-11-25 and 2026-07-28. */
export function mcpEnvironments(options: McpOptions, context: EnvironmentContext): RemoteEnvironments {
  const kind = { name: 'mcp', variables: MCP_VARIABLES };
  const format: ActionFormat = options.tools === undefined ? ownTools : templateFormat(options.tools);
  return new RemoteEnvironments(kind, options, options, context, async (server, signal) => ({
    format,
    remote: await McpServer.connect(server, options, signal),
  }));
}

/** Calls tools of one server. A call is sent once. */
class McpServer implements RemoteEnvironment {
  private calls = 0;
  private last: Record<string, unknown> = {};
  private constant: Record<string, unknown> = {};

  private constructor(
    private readonly client: Client,
    private readonly address: string,
    private readonly options: McpOptions,
  ) {}

  /** @throws OutsideError if the server is not reachable or speaks no known version */
  static async connect(server: OutsideServer, options: McpOptions, signal: AbortSignal): Promise<McpServer> {
    const client = new Client({ name: 'ui-rl', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    const transport = new StreamableHTTPClientTransport(new URL(server.address), {
      fetch: fetchBy(server, signal),
      reconnectionOptions: {
        maxRetries: 0,
        initialReconnectionDelay: 1,
        maxReconnectionDelay: 1,
        reconnectionDelayGrowFactor: 1,
      },
    });
    const connected = new McpServer(client, server.address, options);
    await connected.guarded('initialize', signal, () => client.connect(transport, { signal: soon(signal) }));
    return connected;
  }

  async reset(seed: number, reset: Record<string, unknown>, signal: AbortSignal): Promise<Observed> {
    const { begin, every_call: everyCall } = this.options;
    if (begin === undefined) return this.look({ observation: {}, reward: 0, done: false }, signal);
    const began = await this.call(filled(begin, { ...reset, seed }), signal);
    if (began.observation.is_error === true) {
      throw new OutsideError(
        'bad_task',
        `${this.address} refuses ${begin.name}: ${outsideText(String(began.observation.text))}`,
      );
    }
    this.constant = filled(everyCall, began.observation);
    return this.look(began, signal);
  }

  async step(action: Record<string, unknown>, signal: AbortSignal): Promise<Observed | null> {
    const observed = await this.call(action as unknown as ToolCall, signal);
    // A tool that reports an error has not acted; the model reads the outcome.
    return observed.observation.is_error === true ? null : this.look(observed, signal);
  }

  async state(): Promise<Record<string, unknown>> {
    return { calls: this.calls, result: this.last };
  }

  async close(signal: AbortSignal): Promise<void> {
    try {
      if (this.options.end !== undefined) await this.call(this.options.end, signal);
    } finally {
      await this.client.close();
    }
  }

  /** The result with a picture: its own, or that of the call for the screen. */
  private async look(observed: Observed, signal: AbortSignal): Promise<Observed> {
    if (observed.observation.screenshot !== undefined) return observed;
    const { observation } = await this.call(this.options.screen, signal);
    return { ...observed, observation: { ...observation, ...observed.observation } };
  }

  private async call({ name, arguments: given = {} }: ToolCall, signal: AbortSignal): Promise<Observed> {
    const request = { name, arguments: { ...given, ...this.constant } };
    const result: unknown = await this.guarded(name, signal, () => this.client.callTool(request, { signal }));
    this.calls += 1;
    const observation = isRecord(result) ? readResult(result) : {};
    const { screenshot: _, ...told } = observation;
    this.last = told;
    const { reward, done } = observation;
    return { observation, reward: typeof reward === 'number' ? reward : 0, done: done === true };
  }

  private async guarded<T>(what: string, signal: AbortSignal, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (cause) {
      if (cause instanceof OutsideError) throw cause;
      if (signal.aborted)
        throw new OutsideError('deadline', `${this.address} gave no answer to ${what} in time`, { cause });
      const code = cause instanceof ProtocolError ? `error ${cause.code}` : 'a failure';
      const message = outsideText(cause instanceof Error ? cause.message : String(cause));
      throw new OutsideError('crashed', `${this.address} answered ${code} to ${what}: ${message}`, { cause });
    }
  }
}

/** Requests with the limits of a server outside of the project. */
function fetchBy(server: OutsideServer, episode: AbortSignal): FetchLike {
  return async (_url, { method = 'GET', headers, body, signal } = {}) => {
    // The stream of a server's own messages is optional, and nothing here listens to it.
    if (method === 'GET') return new Response(null, { status: 405 });
    const answer = await server.ask('', {
      method: method as 'POST' | 'DELETE',
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === 'string' ? { body: JSON.parse(body) as unknown } : {}),
      signal: signal ?? episode,
    });
    const isEmpty = answer.bytes.length === 0;
    return new Response(isEmpty ? null : new Uint8Array(answer.bytes), {
      status: answer.status,
      headers: Object.entries(answer.headers).flatMap(([name, value]) =>
        value === undefined ? [] : [[name, [value].flat().join(', ')] as [string, string]],
      ),
    });
  };
}
