import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { ApiError, toApiError } from '../errors';
import { checkAccess, type Access } from './access';
import { countRefusal } from './measures';
import { ResponseSocket, type SocketParts } from './response-socket';

export interface SocketSettings {
  access: Access;
  /** Path prefix of the API: `sessions/:session`. Default: none. */
  path?: string;
  /** Maximum message size. */
  maxMessageBytes: number;
  /** Maximum number of open sockets. */
  maxSockets: number;
}

/** Close code of RFC 6455 for a server shutdown. */
const GOING_AWAY = 1001;
/** Time for clients to answer it. */
const GOODBYE_MS = 500;

/** WebSockets at the addresses of `/v1/responses`. */
export class ResponseSockets {
  private readonly server: WebSocketServer;
  private readonly address: RegExp;

  constructor(
    private readonly settings: SocketSettings,
    private readonly parts: SocketParts,
  ) {
    this.server = new WebSocketServer({
      noServer: true,
      maxPayload: settings.maxMessageBytes,
      perMessageDeflate: false,
      autoPong: false,
    });
    const below = settings.path === undefined ? '' : `/${settings.path.replace(':session', '([^/]+)')}`;
    this.address = new RegExp(`^${below}/v1/responses/?$`);
  }

  attach(http: Server): void {
    http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      // Registered first, because a client may disconnect at any time.
      socket.on('error', () => socket.destroy());
      try {
        this.upgrade(request, socket, head);
      } catch (error) {
        countRefusal(error);
        const { status, body } = toApiError(error);
        refuseUpgrade(socket, status, body);
      }
    });
  }

  /** Notifies all clients of the shutdown, and disconnects those that stay. */
  async close(): Promise<void> {
    const { clients } = this.server;
    for (const client of clients) client.close(GOING_AWAY, 'the server ends');
    const until = Date.now() + GOODBYE_MS;
    while (clients.size > 0 && Date.now() < until) await pause(10);
    for (const client of clients) client.terminate();
    this.server.close();
  }

  private upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { access, maxSockets } = this.settings;
    const apiKey = checkAccess(request, access);
    const session = this.sessionIn(request);
    // Rejects a session that is over, or a missing run, before the upgrade.
    this.parts.directory.policyOf(session);
    if (this.server.clients.size >= maxSockets) {
      throw new ApiError(429, `${maxSockets} WebSockets are open, no more at a time`, 'rate_limit_exceeded');
    }
    this.server.handleUpgrade(request, socket, head, (client) => {
      ResponseSocket.serve(client, { session, apiKey }, this.parts);
    });
  }

  private sessionIn({ url, headers }: IncomingMessage): string | undefined {
    if (headers.upgrade?.toLowerCase() !== 'websocket') {
      throw new ApiError(
        400,
        `a connection cannot be upgraded to "${headers.upgrade?.slice(0, 100)}": expected HTTP/1.1 without Upgrade, or a WebSocket`,
        'invalid_upgrade',
      );
    }
    const path = (url ?? '').split('?')[0];
    const found = this.address.exec(path);
    if (found !== null) return found.at(1);
    throw new ApiError(404, `no WebSockets at ${path.slice(0, 100)}: expected …/v1/responses`, 'not_found');
  }
}

/** Answers an upgrade request with an HTTP error. */
export function refuseUpgrade(socket: Duplex, status: number, body: object): void {
  const text = JSON.stringify(body);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Error'}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(text)}`,
    'Connection: close',
  ];
  socket.once('finish', () => socket.destroy());
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
}
