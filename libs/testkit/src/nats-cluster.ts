import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually, freePort, Launched } from './processes';
import { findNatsServer } from './tools';

const CREDENTIALS = resolve(__dirname, '../../../deploy/nats/credentials.mjs');
/** Ports of `deploy/nats`, relative to the client port: for routes between brokers, and for leaf nodes. */
const OFFSETS = { clients: 0, routes: 2000, leaves: 3200 };
const READY_MS = 60_000;

export interface NatsClusterOptions {
  /** Default 3. */
  size?: number;
  /** Maximum disk usage of all streams on each broker, in MiB. */
  storeLimitMb?: number;
  /** Users behind a leaf node ({@link NatsCluster.startLeaf}). */
  leaf?: readonly string[];
}

/** One of the brokers: a process that can be killed and restarted on its port and store. */
export class NatsNode {
  private process: Launched | null = null;

  constructor(
    readonly name: string,
    readonly port: number,
    private readonly config: string,
  ) {}

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get output(): string {
    return this.process?.output ?? '';
  }

  /** Starts it with its existing store; resolves when clients can connect. */
  async launch(): Promise<void> {
    if (this.process?.running === true) return;
    const started = Launched.start(findNatsServer(), ['-c', this.config, '-n', this.name]);
    this.process = started;
    const settled = () => !started.running || started.output.includes('Server is ready');
    await eventually(`nats-server ${this.name}`, settled, READY_MS);
    if (!started.running) throw new Error(`nats-server ${this.name} ended: ${started.output}`);
  }

  /** Sends SIGKILL; the store remains. */
  async kill(): Promise<void> {
    await this.process?.kill();
  }

  async stop(): Promise<void> {
    await this.process?.stop(5_000);
  }
}

/** Brokers on 127.0.0.1 that replicate the same data, with the users and the configuration of `deploy/nats`. */
export class NatsCluster {
  private leaf: NatsNode | undefined;

  private constructor(
    readonly nodes: readonly NatsNode[],
    private readonly folder: string,
  ) {}

  static async start({ size = 3, storeLimitMb, leaf = [] }: NatsClusterOptions = {}): Promise<NatsCluster> {
    const folder = mkdtempSync(join(tmpdir(), 'uirl-cluster-'));
    const ports: number[] = [];
    while (ports.length < size) ports.push(await freePorts());
    const urls = ports.map((port) => `nats://127.0.0.1:${port}`).join(',');
    const behind = leaf.length === 0 ? [] : ['--leaf', leaf.join(',')];
    const made = [CREDENTIALS, join(folder, 'users'), urls, ...behind];
    execFileSync(process.execPath, made, { stdio: 'pipe' });
    const nodes = ports.map((port, index) => {
      const name = `node-${index + 1}`;
      return new NatsNode(name, port, writeNode(folder, name, port, storeLimitMb));
    });
    const cluster = new NatsCluster(nodes, folder);
    try {
      await Promise.all(nodes.map((node) => node.launch()));
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  /** The addresses of all brokers. */
  get url(): string {
    return this.nodes.map(({ url }) => url).join(',');
  }

  /** Context file of a user. */
  contextFile(user: string): string {
    return join(this.folder, 'users', `${user}.json`);
  }

  /** Starts the broker for the users of `leaf`. @returns a function that returns a user's context file */
  async startLeaf(): Promise<(user: string) => string> {
    const folder = join(this.folder, 'users', 'leaf');
    const port = await freePorts();
    const config = join(folder, 'here.conf');
    const text = readFileSync(join(folder, 'leaf.conf'), 'utf8');
    writeFileSync(config, text.replace('127.0.0.1:4222', `127.0.0.1:${port}`));
    this.leaf = new NatsNode('leaf', port, config);
    await this.leaf.launch();
    return (user) => {
      const context = JSON.parse(readFileSync(join(folder, `${user}.json`), 'utf8')) as object;
      const file = join(folder, `${user}-here.json`);
      writeFileSync(file, JSON.stringify({ ...context, url: this.leaf!.url }));
      return file;
    };
  }

  async stop(): Promise<void> {
    await this.leaf?.stop();
    await Promise.all(this.nodes.map((node) => node.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/**
 * Writes the configuration of `deploy/nats` with the ports and store of one of several local brokers. @returns its
 * path
 */
function writeNode(folder: string, name: string, port: number, storeLimitMb: number | undefined): string {
  const store = join(folder, name);
  mkdirSync(store);
  const limit = storeLimitMb === undefined ? '' : `, max_file_store: ${storeLimitMb}MB`;
  const text = readFileSync(join(folder, 'users', 'cluster.conf'), 'utf8')
    .replace('0.0.0.0:4222', `127.0.0.1:${port + OFFSETS.clients}`)
    .replace('0.0.0.0:6222', `127.0.0.1:${port + OFFSETS.routes}`)
    .replace('0.0.0.0:7422', `127.0.0.1:${port + OFFSETS.leaves}`)
    .replace('"/var/lib/nats"', `${JSON.stringify(store)}${limit}`);
  const config = join(folder, 'users', `${name}.conf`);
  writeFileSync(config, text);
  return config;
}

/** A client port whose route and leaf node ports are also free. */
async function freePorts(): Promise<number> {
  for (;;) {
    const port = await freePort();
    const further = [port + OFFSETS.routes, port + OFFSETS.leaves];
    if ((await Promise.all(further.map(isFree))).every(Boolean)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  if (port > 65_535) return false;
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}
