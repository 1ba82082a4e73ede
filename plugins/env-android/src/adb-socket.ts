import { connect, type Socket } from 'node:net';
import { DeviceError } from '@ui-rl/plugin-kit';

/** Address of an adb server. */
export interface AdbAddress {
  host: string;
  port: number;
}

/**
 * One connection to an adb server: requests with their length in hex as prefix, replies that start with OKAY or FAIL.
 * It closes as soon as its signal aborts.
 */
export class AdbSocket {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private ended = false;
  private failure: DeviceError | null = null;
  private wake: () => void = () => {};

  private constructor(
    private readonly socket: Socket,
    private readonly what: string,
    private readonly signal: AbortSignal,
  ) {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.size += chunk.length;
      this.wake();
    });
    socket.on('end', () => this.finish(null));
    socket.on('close', () => this.finish(null));
    socket.on('error', (error) => this.finish(gone(this.what, error)));
    signal.addEventListener('abort', this.abort, { once: true });
    if (signal.aborted) this.abort();
  }

  /** @param what description of the operation, for messages */
  static async open({ host, port }: AdbAddress, what: string, signal: AbortSignal): Promise<AdbSocket> {
    const socket = connect({ host, port });
    const adb = new AdbSocket(socket, what, signal);
    await new Promise<void>((resolve) => {
      adb.wake = resolve;
      socket.once('connect', resolve);
    });
    if (adb.failure === null && !adb.ended) return adb;
    adb.close();
    if (adb.failure?.code === 'deadline') throw adb.failure;
    throw new DeviceError(
      'crashed',
      `there is no adb server at ${host}:${port}. Start one there: adb -P ${port} start-server`,
      { cause: adb.failure },
    );
  }

  /** Sends a request to the server. Throws `DeviceError` `crashed` with the server's message if it fails. */
  async request(service: string): Promise<void> {
    const bytes = Buffer.from(service);
    this.socket.write(Buffer.concat([Buffer.from(bytes.length.toString(16).padStart(4, '0')), bytes]));
    const status = (await this.exactly(4)).toString('latin1');
    if (status === 'OKAY') return;
    const reason = status === 'FAIL' ? (await this.text()).trim() : `it answers ${JSON.stringify(status)}`;
    throw new DeviceError('crashed', `${this.what}: adb says: ${reason}`);
  }

  /** Reads a length-prefixed text. */
  async text(): Promise<string> {
    const length = Number.parseInt((await this.exactly(4)).toString('latin1'), 16);
    if (Number.isNaN(length)) throw new DeviceError('crashed', `${this.what}: no adb server answers there`);
    return (await this.exactly(length)).toString('utf8');
  }

  async exactly(length: number): Promise<Buffer> {
    const bytes = await this.exactlyOrEnd(length);
    if (bytes !== null) return bytes;
    throw new DeviceError('crashed', `${this.what}: the connection to the device ended`);
  }

  /** Null if the connection ended before the first byte. */
  async exactlyOrEnd(length: number): Promise<Buffer | null> {
    while (this.size < length) {
      if (this.failure !== null) throw this.failure;
      if (this.ended) {
        if (this.size === 0) return null;
        throw new DeviceError('crashed', `${this.what}: the connection to the device ended`);
      }
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return this.take(length);
  }

  close(): void {
    this.signal.removeEventListener('abort', this.abort);
    this.socket.destroy();
  }

  private take(length: number): Buffer {
    const all = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
    this.chunks.length = 0;
    if (all.length > length) this.chunks.push(all.subarray(length));
    this.size -= length;
    return all.subarray(0, length);
  }

  private readonly abort = (): void => {
    this.finish(new DeviceError('deadline', `${this.what}: the device did not answer in time`));
    this.socket.destroy();
  };

  private finish(failure: DeviceError | null): void {
    this.failure ??= failure;
    this.ended = true;
    this.wake();
  }
}

function gone(what: string, error: Error): DeviceError {
  return new DeviceError('crashed', `${what}: the connection to adb was lost (${error.message})`, {
    cause: error,
  });
}
