import type { Socket } from 'node:net';

export interface Endpoint {
  host: string;
  port: number;
}

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const REPLIES = { granted: 0, not_allowed: 2, unreachable: 4 };

/**
 * Reads the start of a SOCKS 5 connection (RFC 1928) up to its target: without authentication, command `connect`
 * only. Throws for anything else, or if the connection ends.
 */
export async function readSocksRequest(socket: Socket): Promise<Endpoint> {
  const read = reader(socket);
  const [version, methods] = await read(2);
  if (version !== VERSION) throw new Error('no SOCKS 5');
  if (!(await read(methods)).includes(NO_AUTHENTICATION)) throw new Error('a SOCKS 5 that wants a name');
  socket.write(Buffer.from([VERSION, NO_AUTHENTICATION]));
  const [again, command, , type] = await read(4);
  if (again !== VERSION || command !== CONNECT) throw new Error('no SOCKS 5 connect');
  const host = await readHost(read, type);
  const port = await read(2);
  return { host, port: port.readUInt16BE() };
}

/** The reply for an outcome; it does not disclose the address of the other end. */
export function replyTo(outcome: keyof typeof REPLIES): Buffer {
  return Buffer.from([VERSION, REPLIES[outcome], 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

type Read = (bytes: number) => Promise<Buffer>;

async function readHost(read: Read, type: number): Promise<string> {
  if (type === IPV4) return [...(await read(4))].join('.');
  if (type === IPV6) return ipv6Of(await read(16));
  if (type !== NAME) throw new Error(`no kind of address: ${type}`);
  const [length] = await read(1);
  return (await read(length)).toString('latin1');
}

/** Formatted as in URLs, so that it can be compared. */
function ipv6Of(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, i) => bytes.readUInt16BE(2 * i).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/** Reads exactly the requested bytes from a socket; the following data belongs to the other end. */
function reader(socket: Socket): Read {
  return (bytes) =>
    new Promise((resolve, reject) => {
      const settle = (chunk: Buffer | null) => {
        socket.off('readable', take).off('end', end).off('close', end);
        if (chunk?.length === bytes) resolve(chunk);
        else reject(new Error('the connection ended'));
      };
      const end = () => settle(null);
      const take = () => {
        const chunk = bytes === 0 ? Buffer.alloc(0) : (socket.read(bytes) as Buffer | null);
        if (chunk !== null) settle(chunk);
      };
      socket.on('readable', take).on('end', end).on('close', end);
      take();
    });
}
