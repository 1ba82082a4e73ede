import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { PGlite } from '@electric-sql/pglite';
import { FrontendReader } from './frontend-reader';

/** A client that leaves a transaction open for longer is disconnected: it keeps all others from the database. */
const IDLE_IN_TRANSACTION_MS = 30_000;

const SYNC = Buffer.from([0x53, 0, 0, 0, 4]);
const ROLLBACK = Buffer.concat([Buffer.from([0x51, 0, 0, 0, 13]), Buffer.from('ROLLBACK\0')]);
/** ReadyForQuery without its last byte, the status. */
const READY = 'Z\0\0\0\u0005';

/**
 * Lets several clients take turns at PGlite's one session. A client has the session from the first message of a
 * statement to its end, and from the start of a transaction to its end: the statements of two clients never mix. A
 * client that disconnects within a transaction loses it.
 */
export class SharedSession {
  private turn: Promise<void> = Promise.resolve();
  private readonly clients = new Map<Socket, Promise<void>>();

  constructor(private readonly database: PGlite) {}

  /** Serves a connection of PostgreSQL's protocol until it ends. */
  add(socket: Socket): void {
    const served = this.serve(socket).finally(() => this.clients.delete(socket));
    this.clients.set(socket, served);
  }

  /** Disconnects all clients, and rolls back their open transactions. */
  async close(): Promise<void> {
    const served = [...this.clients.values()];
    for (const socket of this.clients.keys()) socket.destroy();
    await Promise.all(served);
  }

  private async serve(socket: Socket): Promise<void> {
    const reader = new FrontendReader();
    let release: (() => void) | null = null;
    socket.on('error', () => undefined);
    socket.on('timeout', () => socket.destroy());
    try {
      for await (const data of socket) {
        const { units, answers } = reader.read(data as Buffer);
        for (const answer of answers) socket.write(answer);
        for (const unit of units) {
          release ??= await this.acquire();
          socket.setTimeout(IDLE_IN_TRANSACTION_MS);
          if (socket.destroyed) break;
          const status = await this.execute(unit, (bytes) => {
            if (socket.writable) socket.write(bytes);
          });
          if (status !== 'I') continue;
          socket.setTimeout(0);
          release();
          release = null;
        }
        if (reader.isEnded) break;
      }
    } catch {
      // Of a connection that broke, or a client that does not speak the protocol.
    } finally {
      if (release !== null) await this.rollBack().finally(release);
      socket.destroy();
      if (!socket.closed) await once(socket, 'close');
    }
  }

  private async acquire(): Promise<() => void> {
    const before = this.turn;
    let release: () => void = () => undefined;
    this.turn = new Promise((resolve) => (release = resolve));
    await before;
    return release;
  }

  /** The status of the session after the messages: `I` idle, `T` in a transaction, `E` in a failed one. */
  private async execute(
    messages: readonly Uint8Array[],
    answer: (bytes: Uint8Array) => void,
  ): Promise<string> {
    let tail = '';
    for (const message of messages) {
      await this.database.execProtocolRawStream(Uint8Array.from(message), {
        onRawData: (bytes) => {
          tail = (tail + Buffer.from(bytes.subarray(-6)).toString('latin1')).slice(-6);
          // PGlite reuses the memory.
          answer(Uint8Array.from(bytes));
        },
      });
    }
    return tail.startsWith(READY) ? tail.slice(READY.length) : '';
  }

  private async rollBack(): Promise<void> {
    const status = await this.execute([SYNC], () => undefined);
    if (status !== 'I') await this.execute([ROLLBACK], () => undefined);
  }
}
