import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, checkAccess, refuseUpgrade, type Access } from '@ui-rl/openai-api';
import { WebSocketServer, type WebSocket } from 'ws';
import type { ServedEpisodes } from './episodes';
import { RPC, rpcError } from './json-rpc';
import { OpenEnvSocket, RpcSocket, wsError } from './socket';

/** Close codes of RFC 6455: the server shuts down; it has no capacity. */
const CLOSED = { goingAway: 1001, tryAgain: 1013 } as const;
/** Additional sockets beside the active ones, for example those that wait to be rejected. */
const SPARE = 8;

/** The WebSockets of `/ws` and `/mcp`. */
export class EnvironmentSockets {
  private readonly server: WebSocketServer;
  private playing = 0;

  constructor(
    private readonly episodes: ServedEpisodes,
    private readonly access: Access,
    maxPayload: number,
  ) {
    this.server = new WebSocketServer({
      noServer: true,
      maxPayload,
      perMessageDeflate: false,
      autoPong: false,
    });
  }

  attach(http: Server): void {
    http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => socket.destroy());
      try {
        this.upgrade(request, socket, head);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        refuseUpgrade(socket, error.status, { detail: error.message });
      }
    });
  }

  close(): void {
    for (const client of this.server.clients) {
      client.close(CLOSED.goingAway, 'the server ends');
      setTimeout(() => client.terminate(), 500).unref();
    }
    this.server.close();
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    checkAccess(request, this.access);
    const [path] = (request.url ?? '').split('?');
    if (path !== '/ws' && path !== '/mcp') {
      throw new ApiError(404, `no WebSockets at ${path.slice(0, 100)}: there are /ws and /mcp`);
    }
    const { maxSessions } = this.episodes.world;
    if (this.server.clients.size >= maxSessions + SPARE) throw new ApiError(503, 'too many WebSockets');
    this.server.handleUpgrade(request, socket, head, (client) => {
      if (this.playing >= maxSessions) sendFull(client, path, this.playing, maxSessions);
      else this.serve(client, path);
    });
  }

  private serve(client: WebSocket, path: string): void {
    this.playing += 1;
    client.on('close', () => {
      this.playing -= 1;
    });
    const served =
      path === '/ws' ? new OpenEnvSocket(client, this.episodes) : new RpcSocket(client, this.episodes);
    served.listen();
  }
}

function sendFull(client: WebSocket, path: string, active: number, max: number): void {
  const message = `Server at capacity: ${active}/${max} sessions active. Cannot accept new connections.`;
  const counts = { active_sessions: active, max_sessions: max };
  const told =
    path === '/ws'
      ? wsError('CAPACITY_REACHED', message, counts)
      : rpcError(null, RPC.server, message, counts);
  client.on('error', () => client.terminate());
  client.send(JSON.stringify(told));
  client.close(CLOSED.tryAgain);
}
