import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type CallToolResult,
} from '@modelcontextprotocol/server';
import type { ServedEpisodes } from './episodes';
import { ServeError } from './serve-error';
import { callTool, TOOLS, type Tool, type ToolResult } from './tools';
import { readWish } from './wish';

const EPISODE_ID = {
  episode_id: { type: 'string', description: 'the episode, as start_episode returned it' },
};

/** Episodes are named by an argument: clients of the version 2026-07-28 have no sessions. */
const MCP_TOOLS: readonly Tool[] = [
  {
    name: 'start_episode',
    description: 'starts an episode; returns its id, the goal and the first screen',
    inputSchema: {
      type: 'object',
      properties: {
        task_id: { type: 'string', description: 'the task; default: the seed chooses one' },
        seed: { type: 'integer', minimum: 0, description: 'the start state; default: random' },
      },
      additionalProperties: false,
    },
  },
  ...TOOLS.map(({ inputSchema, ...tool }) => ({
    ...tool,
    inputSchema: {
      ...inputSchema,
      properties: { ...EPISODE_ID, ...(inputSchema.properties as object) },
      required: ['episode_id', ...((inputSchema.required as string[] | undefined) ?? [])],
    },
  })),
  {
    name: 'end_episode',
    description: 'ends an episode before its goal is reached, and frees its environment',
    inputSchema: {
      type: 'object',
      properties: EPISODE_ID,
      required: ['episode_id'],
      additionalProperties: false,
    },
  },
];

/**
 * The tools for clients of the Model Context Protocol, versions 2025-11-25 and 2026-07-28, over Streamable HTTP. No
 * request depends on an earlier one, except by the id of an episode.
 */
export class McpEndpoint {
  private readonly handler = createMcpHandler(() => this.server());

  constructor(private readonly episodes: ServedEpisodes) {}

  /** Whether a request comes from a client of MCP: those of OpenEnv do not accept streams of events. */
  static isFor({ method, headers }: IncomingMessage): boolean {
    return method !== 'POST' || (headers.accept ?? '').includes('text/event-stream');
  }

  /** @param body parsed JSON */
  async answer(request: IncomingMessage, body: unknown, response: ServerResponse): Promise<void> {
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) {
      if (value !== undefined) headers.set(name, [value].flat().join(', '));
    }
    const asked = new Request(`http://${request.headers.host ?? 'localhost'}/mcp`, {
      method: request.method,
      headers,
    });
    const answer = await this.handler.fetch(asked, request.method === 'POST' ? { parsedBody: body } : {});
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body === null) response.end();
    else await pipeline(Readable.fromWeb(answer.body as ReadableStream), response).catch(() => undefined);
  }

  close(): Promise<void> {
    return this.handler.close();
  }

  private server(): Server {
    const { run, tasks } = this.episodes.world;
    const server = new Server(
      { name: `ui-rl ${run.environment.kind.name}`, version: '1.0.0' },
      {
        capabilities: { tools: {} },
        instructions: `${tasks.length} tasks on user interfaces. Call start_episode, then the actions with its episode_id.`,
      },
    );
    server.setRequestHandler('tools/list', () => ({ tools: MCP_TOOLS as never }));
    server.setRequestHandler('tools/call', ({ params }) => this.call(params.name, params.arguments ?? {}));
    return server;
  }

  private async call(name: string, given: Record<string, unknown>): Promise<CallToolResult> {
    if (!MCP_TOOLS.some((tool) => tool.name === name)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `there is no tool "${name.slice(0, 100)}"`);
    }
    try {
      return (await this.result(name, given)) as unknown as CallToolResult;
    } catch (error) {
      if (!(error instanceof ServeError)) throw error;
      const { field, message } = error;
      return {
        content: [{ type: 'text', text: field === undefined ? message : `${field}: ${message}` }],
        isError: true,
      };
    }
  }

  private async result(name: string, given: Record<string, unknown>): Promise<ToolResult> {
    if (name === 'start_episode') {
      const id = randomUUID();
      return callTool(
        await this.episodes.begin(id, { ...readWish(given), episodeId: undefined }),
        'screenshot',
      );
    }
    const { episode_id: id, ...rest } = given;
    if (typeof id !== 'string') {
      throw new ServeError('bad_request', 'expected the id that start_episode returned', 'episode_id');
    }
    if (name !== 'end_episode') return callTool(this.episodes.get(id), name, rest);
    const ended = await this.episodes.end(id);
    return {
      content: [{ type: 'text', text: ended ? 'ended' : 'there was none' }],
      structuredContent: { ended },
      isError: false,
    };
  }
}
