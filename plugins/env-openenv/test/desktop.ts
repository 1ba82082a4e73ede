import {
  createServer,
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMcpHandler, Server, type CallToolResult } from '@modelcontextprotocol/server';
import sharp from 'sharp';

type Called = { name: string; arguments: Record<string, unknown> };

/** A desktop of MCP tools by the official SDK: click, type_text and screenshot, as in containers of Harbor. */
export class McpDesktop {
  readonly calls: Called[] = [];
  /** Answers instead of the server. */
  fault: ((response: ServerResponse) => void) | undefined;

  private constructor(
    private readonly http: HttpServer,
    readonly url: string,
  ) {}

  static async start(): Promise<McpDesktop> {
    const handler = createMcpHandler(() => desktop.server());
    const http = createServer((request, response) => void desktop.answer(handler.fetch, request, response));
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    const desktop = new McpDesktop(http, `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
    return desktop;
  }

  stop(): Promise<unknown> {
    this.http.closeAllConnections();
    return new Promise((resolve) => this.http.close(resolve));
  }

  private async answer(
    ask: (request: Request, options: { parsedBody?: unknown }) => Promise<Response>,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (this.fault !== undefined) return this.fault(response);
    const parsedBody = JSON.parse(Buffer.concat(chunks).toString() || 'null') as unknown;
    const asked = new Request(this.url, {
      method: request.method,
      headers: Object.entries(request.headers).map(
        ([name, value]) => [name, String(value)] as [string, string],
      ),
    });
    const answer = await ask(asked, { parsedBody });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.end(Buffer.from(await answer.arrayBuffer()));
  }

  private server(): Server {
    const server = new Server({ name: 'desktop', version: '1.0.0' }, { capabilities: { tools: {} } });
    const inputSchema = { type: 'object' } as const;
    const tools = ['open', 'click', 'type_text', 'screenshot', 'quit'].map((name) => ({ name, inputSchema }));
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', ({ params }) => this.call(params.name, params.arguments ?? {}));
    return server;
  }

  private async call(name: string, given: Record<string, unknown>): Promise<CallToolResult> {
    this.calls.push({ name, arguments: given });
    const text = (said: string, more: object = {}): CallToolResult => ({
      content: [{ type: 'text', text: said }],
      ...more,
    });
    if (name === 'open') return text('opened', { structuredContent: { window: 'w1', goal: 'Type hello' } });
    if (name === 'type_text' && given.text === '') return text('nothing to type', { isError: true });
    if (name === 'type_text')
      return text('typed', { structuredContent: { reward: 1, done: given.text === 'hello' } });
    if (name !== 'screenshot') return text('ok');
    const background = { r: 10 * this.calls.length, g: 0, b: 0 };
    const png = await sharp({ create: { width: 32, height: 24, channels: 3, background } })
      .png()
      .toBuffer();
    return { content: [{ type: 'image', data: png.toString('base64'), mimeType: 'image/png' }] };
  }
}
