import { createServer, type Server, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FakePhone, PhoneReply } from './fake-phone';

const COMMANDS = ['CNXN', 'AUTH', 'OPEN', 'OKAY', 'WRTE', 'CLSE'] as const;
type Command = (typeof COMMANDS)[number];

interface Message {
  command: string;
  arg0: number;
  arg1: number;
  data: Buffer;
}

const HEADER = 24;
const VERSION = 0x01000001;
const MAX_DATA = 256 * 1024;
const AUTH = { token: 1, signature: 2, publicKey: 3 };
const BANNER =
  'device::ro.product.name=fake;ro.product.model=FakePhone;ro.product.device=fake;features=shell_v2,cmd';
const PACKET = { stdout: 1, stderr: 2, exit: 3 };

/**
 * The device side of adb's wire protocol for a `FakePhone`: the real `adb connect` connects to it. Source:
 * android.googlesource.com/platform/packages/modules/adb, protocol.txt and shell_protocol.h.
 */
export class FakeAdbd {
  /** Opened services: `shell,v2,raw:input tap 1 2` … */
  readonly services: string[] = [];
  /** Whether the phone's owner accepts a new key. */
  authorizes = true;
  /** If true, commands are received but never answered. */
  silent = false;
  private readonly connections = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly phone: FakePhone,
  ) {}

  static async listen(phone: FakePhone, port = 0): Promise<FakeAdbd> {
    const server = createServer();
    const adbd = new FakeAdbd(server, phone);
    server.on('connection', (socket) => adbd.accept(socket));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    return adbd;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** As listed by `adb devices` after `adb connect`. */
  get serial(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** Simulates unplugging the cable. */
  disconnect(): void {
    this.connections.forEach((socket) => socket.destroy());
  }

  async stop(): Promise<void> {
    this.disconnect();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(socket: Socket): void {
    this.connections.add(socket);
    socket.on('close', () => this.connections.delete(socket));
    socket.on('error', () => socket.destroy());
    const connection = new Connection(socket, this);
    let kept = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      kept = Buffer.concat([kept, chunk]);
      for (let read = readMessage(kept); read !== null; read = readMessage(kept)) {
        kept = Buffer.from(kept.subarray(HEADER + read.data.length));
        connection.handle(read);
      }
    });
  }
}

/** One connected host. */
class Connection {
  private nextId = 1;
  /** Streams by our id; `wake` releases the next write. */
  private readonly streams = new Map<number, { hostId: number; wake: () => void; closed: boolean }>();

  constructor(
    private readonly socket: Socket,
    private readonly adbd: FakeAdbd,
  ) {}

  handle({ command, arg0, arg1, data }: Message): void {
    if (command === 'CNXN') this.send('AUTH', AUTH.token, 0, randomBytes(20));
    // No key is known before its owner accepts it: the host offers its signature first, then the key itself.
    else if (command === 'AUTH' && arg0 === AUTH.signature) this.send('AUTH', AUTH.token, 0, randomBytes(20));
    else if (command === 'AUTH' && this.adbd.authorizes)
      this.send('CNXN', VERSION, MAX_DATA, Buffer.from(BANNER));
    else if (command === 'OPEN') void this.open(arg0, data.toString('utf8').replace(/\0$/, ''));
    else if (command === 'OKAY') this.streams.get(arg1)?.wake();
    else if (command === 'WRTE') this.send('OKAY', arg1, arg0);
    else if (command === 'CLSE') this.closed(arg1);
  }

  private async open(hostId: number, service: string): Promise<void> {
    this.adbd.services.push(service);
    const shell = /^(shell,v2[^:]*|shell|exec):([\s\S]+)$/.exec(service);
    if (shell === null) return this.send('CLSE', 0, hostId);
    const id = this.nextId++;
    this.streams.set(id, { hostId, wake: () => {}, closed: false });
    this.send('OKAY', id, hostId);
    if (this.adbd.silent) return;
    const [, kind, command] = shell;
    const reply = await this.adbd.phone.run(command);
    const bytes = kind.startsWith('shell,v2') ? packets(reply) : Buffer.concat([reply.stdout, reply.stderr]);
    for (let at = 0; at < bytes.length; at += MAX_DATA)
      await this.write(id, bytes.subarray(at, at + MAX_DATA));
    this.send('CLSE', id, hostId);
    this.streams.delete(id);
  }

  /** Each write waits until the host acknowledges the previous one. */
  private async write(id: number, data: Buffer): Promise<void> {
    const stream = this.streams.get(id);
    if (stream === undefined || stream.closed) return;
    const taken = new Promise<void>((resolve) => (stream.wake = resolve));
    this.send('WRTE', id, stream.hostId, data);
    await taken;
  }

  private closed(id: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    stream.closed = true;
    stream.wake();
    this.streams.delete(id);
  }

  private send(command: Command, arg0: number, arg1: number, data: Buffer = Buffer.alloc(0)): void {
    if (this.socket.destroyed) return;
    const header = Buffer.alloc(HEADER);
    const code = Buffer.from(command).readUInt32LE();
    const checksum = data.reduce((sum, byte) => (sum + byte) >>> 0, 0);
    [code, arg0, arg1, data.length, checksum, ~code >>> 0].forEach((word, i) =>
      header.writeUInt32LE(word, i * 4),
    );
    this.socket.write(Buffer.concat([header, data]));
  }
}

function readMessage(bytes: Buffer): Message | null {
  if (bytes.length < HEADER) return null;
  const length = bytes.readUInt32LE(12);
  if (bytes.length < HEADER + length) return null;
  const command = bytes.subarray(0, 4).toString('latin1');
  const data = Buffer.from(bytes.subarray(HEADER, HEADER + length));
  return { command, arg0: bytes.readUInt32LE(4), arg1: bytes.readUInt32LE(8), data };
}

function packets({ exitCode, stdout, stderr }: PhoneReply): Buffer {
  const packet = (id: number, data: Buffer) => {
    const header = Buffer.alloc(5);
    header[0] = id;
    header.writeUInt32LE(data.length, 1);
    return data.length === 0 && id !== PACKET.exit ? Buffer.alloc(0) : Buffer.concat([header, data]);
  };
  return Buffer.concat([
    packet(PACKET.stdout, stdout),
    packet(PACKET.stderr, stderr),
    packet(PACKET.exit, Buffer.from([exitCode])),
  ]);
}
