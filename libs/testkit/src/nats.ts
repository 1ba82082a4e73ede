import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually, freePort, Launched } from './processes';
import { findNatsServer } from './tools';

export interface NatsOptions {
  /** Kept after `stop`; by default a temporary folder that is removed. */
  storeDir?: string;
  /** 0, the default, selects a free port; it stays the same across restarts. */
  port?: number;
  /** Default true. */
  jetstream?: boolean;
  /** Maximum message size in bytes, default 8 MiB. */
  maxPayload?: number;
  /** Enables the users of `deploy/nats`, and no others. */
  accounts?: boolean;
  /** Maximum disk usage of all streams, in MiB; by default most of the free space. */
  storeLimitMb?: number;
  /** Further lines of the server's configuration file, such as an `authorization` block. */
  config?: string;
}

const CREDENTIALS = resolve(__dirname, '../../../deploy/nats/credentials.mjs');
const EIGHT_MEBIBYTE = 8 * 1024 * 1024;

/** A nats-server process on 127.0.0.1. */
export class NatsServer {
  private process: Launched | null = null;

  private constructor(
    readonly port: number,
    readonly storeDir: string,
    private readonly configPath: string,
    private readonly temporary: string,
  ) {}

  static async start(options: NatsOptions = {}): Promise<NatsServer> {
    const temporary = mkdtempSync(join(tmpdir(), 'uirl-nats-'));
    const port = options.port === undefined || options.port === 0 ? await freePort() : options.port;
    const storeDir = options.storeDir ?? join(temporary, 'store');
    mkdirSync(storeDir, { recursive: true });
    const configPath = join(temporary, 'nats.conf');
    if (options.accounts === true) {
      const made = [CREDENTIALS, join(temporary, 'users'), `nats://127.0.0.1:${port}`];
      execFileSync(process.execPath, made, { stdio: 'pipe' });
    }
    writeFileSync(configPath, configuration(port, storeDir, options));
    const server = new NatsServer(port, storeDir, configPath, temporary);
    try {
      await server.launch();
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  /** Context file of a user, if the server has those of `deploy/nats`. */
  contextFile(user: string): string {
    return join(this.temporary, 'users', `${user}.json`);
  }

  get output(): string {
    return this.process?.output ?? '';
  }

  /** Restarts the server on the same port and store. */
  async launch(): Promise<void> {
    if (this.process?.running === true) return;
    const started = Launched.start(findNatsServer(), ['-c', this.configPath]);
    this.process = started;
    const settled = () => !started.running || started.output.includes('Server is ready');
    await eventually(`nats-server on port ${this.port}`, settled, 20_000);
    if (!started.running) throw new Error(`nats-server ended: ${started.output}`);
  }

  /** Sends SIGKILL; the store remains. */
  async kill(): Promise<void> {
    await this.process?.kill();
  }

  /** SIGKILL, a pause, and a restart on the same store. */
  async restart(pauseMs = 0): Promise<void> {
    await this.kill();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await this.launch();
  }

  /** Deletes the store, as if a broker restarts on a new disk. Only while the server is stopped. */
  loseStore(): void {
    rmSync(this.storeDir, { recursive: true, force: true });
    mkdirSync(this.storeDir, { recursive: true });
  }

  /** Copies the store as it is on disk now. */
  saveStore(): void {
    rmSync(this.copy, { recursive: true, force: true });
    cpSync(this.storeDir, this.copy, { recursive: true });
  }

  /**
   * Restores the copied store, as after a power failure before recent data reached the disk. Only while the server is
   * stopped.
   * @param streams restores all stream data, or only messages without the progress of consumers
   */
  restoreStore(streams: 'all' | 'messages' = 'all'): void {
    if (streams === 'all') return this.restore('');
    const folder = join('jetstream', '$G', 'streams');
    for (const stream of readdirSync(join(this.storeDir, folder))) this.restore(join(folder, stream, 'msgs'));
  }

  private restore(path: string): void {
    const [from, to] = [join(this.copy, path), join(this.storeDir, path)];
    rmSync(to, { recursive: true, force: true });
    if (existsSync(from)) cpSync(from, to, { recursive: true });
  }

  private get copy(): string {
    return join(this.temporary, 'copy');
  }

  /** Stops the server and removes temporary files. */
  async stop(): Promise<void> {
    await this.process?.stop(5_000);
    rmSync(this.temporary, { recursive: true, force: true });
  }
}

export async function startNats(options: NatsOptions = {}): Promise<NatsServer> {
  return NatsServer.start(options);
}

function configuration(port: number, storeDir: string, options: NatsOptions): string {
  const lines = ['host: 127.0.0.1', `port: ${port}`, `max_payload: ${options.maxPayload ?? EIGHT_MEBIBYTE}`];
  const limit = options.storeLimitMb === undefined ? '' : `, max_file_store: ${options.storeLimitMb}MB`;
  if (options.jetstream !== false) lines.push(`jetstream { store_dir: ${JSON.stringify(storeDir)}${limit} }`);
  if (options.accounts === true) lines.push('include ./users/accounts.conf');
  if (options.config !== undefined) lines.push(options.config);
  return `${lines.join('\n')}\n`;
}
