import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy between a client and a real server that can delay, drop or cut traffic. */
export class FaultyProxy {
  private readonly pairs = new Set<[Socket, Socket]>();
  private delayMs = 0;
  private blackholed = false;
  private stalled = false;
  private refusing = false;
  /** Refused connections so far. */
  refused = 0;
  /** Dropped chunks so far. */
  swallowed = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async start(targetPort: number, targetHost = '127.0.0.1'): Promise<FaultyProxy> {
    const server = createServer();
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('the proxy got no port');
    const proxy = new FaultyProxy(server, address.port);
    server.on('connection', (client) => proxy.accept(client, targetPort, targetHost));
    return proxy;
  }

  /** Delays every chunk in both directions. */
  delay(ms: number): void {
    this.delayMs = ms;
  }

  /** Drops all data; connections stay open, as when a network loses packets. */
  blackhole(on: boolean): void {
    this.blackholed = on;
  }

  /**
   * Holds all data without losing it: connections stay open, new ones get no answer, and held data arrives late, as
   * with retransmitted packets.
   */
  stall(on: boolean): void {
    this.stalled = on;
    for (const socket of [...this.pairs].flat()) {
      if (on) socket.pause();
      else socket.resume();
    }
  }

  /** Ends all connections; refuses new ones while `refuse` is true. */
  cut(refuse = false): void {
    this.refusing = refuse;
    for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    this.pairs.clear();
  }

  /** Accepts connections again. */
  heal(): void {
    this.refusing = false;
    this.stall(false);
    this.blackholed = false;
    this.delayMs = 0;
  }

  async stop(): Promise<void> {
    this.cut(true);
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve());
    });
  }

  private accept(client: Socket, port: number, host: string): void {
    if (this.refusing) {
      this.refused += 1;
      client.destroy();
      return;
    }
    const upstream = connect(port, host);
    const pair: [Socket, Socket] = [client, upstream];
    this.pairs.add(pair);
    this.pass(client, upstream);
    this.pass(upstream, client);
    const end = () => {
      this.pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of pair) socket.on('error', end).on('close', end);
    if (this.stalled) for (const socket of pair) socket.pause();
  }

  private pass(from: Socket, to: Socket): void {
    from.on('data', (data) => {
      if (this.blackholed) {
        this.swallowed += 1;
        return;
      }
      if (this.delayMs === 0) to.write(data);
      else setTimeout(() => !to.destroyed && to.write(data), this.delayMs);
    });
  }
}
