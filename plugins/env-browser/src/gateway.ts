import {
  connect,
  createServer,
  type AddressInfo,
  type LookupFunction,
  type Server,
  type Socket,
} from 'node:net';
import { hostOf, isPrivate, resolveHost, type Address, type Resolve } from './addresses';
import { readSocksRequest, replyTo, type Endpoint } from './socks';

export interface GatewayRules {
  /** Origins whose host and port are allowed. */
  origins: Iterable<string>;
  /** Origins that may be on this machine or in a private network. */
  privateOrigins: Iterable<string>;
  /** Called for every refused connection. */
  onRefused: (reason: string) => void;
  resolve?: Resolve;
  /** Origins without TLS that are answered here, and how. */
  local?: { origins: Iterable<string>; answer: (client: Socket) => void };
}

/**
 * The page's only way to the network: a SOCKS 5 proxy on its own port. It connects to the host and port of allowed
 * origins only, for any kind of connection. It resolves each name once, so that a name cannot point elsewhere later
 * (DNS rebinding), and refuses names that resolve to private addresses unless they are listed as private origins.
 */
export class Gateway {
  private readonly allowed: ReadonlySet<string>;
  private readonly privately: ReadonlySet<string>;
  private readonly local: ReadonlySet<string>;
  private readonly pinned = new Map<string, Promise<Address[]>>();
  private readonly sockets = new Set<Socket>();
  private readonly resolve: Resolve;

  private constructor(
    private readonly rules: GatewayRules,
    private readonly server: Server,
  ) {
    this.allowed = new Set([...rules.origins].map((origin) => keyOf(endpointOf(origin))));
    this.privately = new Set([...rules.privateOrigins].map((origin) => keyOf(endpointOf(origin))));
    this.local = new Set([...(rules.local?.origins ?? [])].map((origin) => keyOf(endpointOf(origin))));
    this.resolve = rules.resolve ?? resolveHost;
    server.on('connection', (socket) => void this.serve(socket));
  }

  static async open(rules: GatewayRules): Promise<Gateway> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Gateway(rules, server);
  }

  /** Address of the proxy. */
  get url(): string {
    return `socks5://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server.close();
    this.sockets.forEach((socket) => socket.destroy());
  }

  private async serve(client: Socket): Promise<void> {
    this.hold(client);
    try {
      const endpoint = await readSocksRequest(client);
      if (this.local.has(keyOf(endpoint))) return this.answer(client);
      const addresses = await this.addressesOf(endpoint);
      if (addresses === null) client.end(replyTo('not_allowed'));
      else this.join(client, endpoint, addresses);
    } catch {
      client.destroy();
    }
  }

  private answer(client: Socket): void {
    client.write(replyTo('granted'));
    this.rules.local!.answer(client);
  }

  /** The addresses a connection may use; null if it is refused. */
  private async addressesOf(endpoint: Endpoint): Promise<Address[] | null> {
    const { host, port } = endpoint;
    if (!this.allowed.has(keyOf(endpoint))) return this.refuse(`${host}:${port} is not allowed`);
    let pinned = this.pinned.get(host);
    if (pinned === undefined) {
      pinned = this.resolve(host).catch(() => []);
      this.pinned.set(host, pinned);
    }
    const addresses = await pinned;
    // A name without an address may get one later.
    if (addresses.length === 0) this.pinned.delete(host);
    const hidden = addresses.find(({ address }) => isPrivate(address));
    if (hidden === undefined || this.privately.has(keyOf(endpoint))) return addresses;
    return this.refuse(
      `${host} leads to ${hidden.address}, an address of this machine or a private network. Where that is meant, ` +
        'the run file names the origin in environment.kind.private_origins',
    );
  }

  private refuse(reason: string): null {
    this.rules.onRefused(reason);
    return null;
  }

  private join(client: Socket, { host, port }: Endpoint, addresses: readonly Address[]): void {
    const server = connect({ host, port, lookup: pinnedLookup(addresses) });
    this.hold(server);
    const unreachable = () => client.end(replyTo('unreachable'));
    server.once('error', unreachable);
    server.once('connect', () => {
      server.off('error', unreachable);
      client.write(replyTo('granted'));
      client.pipe(server).pipe(client);
    });
    server.once('close', () => client.destroySoon());
    client.once('close', () => server.destroy());
  }

  private hold(socket: Socket): void {
    this.sockets.add(socket);
    socket.once('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }
}

function pinnedLookup(addresses: readonly Address[]): LookupFunction {
  return (host, { all }, callback) => {
    if (addresses.length === 0) callback(new Error(`${host} has no address`), '', 0);
    else if (all === true) callback(null, [...addresses]);
    else callback(null, addresses[0].address, addresses[0].family);
  };
}

function endpointOf(origin: string): Endpoint {
  const { port, protocol } = new URL(origin);
  const usual = protocol === 'https:' ? 443 : 80;
  return { host: hostOf(origin), port: port === '' ? usual : Number(port) };
}

function keyOf({ host, port }: Endpoint): string {
  return `${host.toLowerCase()} ${port}`;
}
