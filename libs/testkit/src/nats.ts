import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { eventually, freePort, Launched } from './processes';
import { findNatsServer } from './tools';

export interface NatsOptions {
  /** Kept after `stop`; without it a temporary folder is used and removed. */
  storeDir?: string;
  /** 0, the default, takes a free one; it stays the same over restarts. */
  port?: number;
  /** Default true. */
  jetstream?: boolean;
  /** Largest message in bytes, default 8 MiB. */
  maxPayload?: number;
  /** With the users of `deploy/nats`, and no others. */
  accounts?: boolean;
  /** What all streams together may take on disk, in MiB; by default most of what is free. */
  storeLimitMb?: number;
  /** Further lines of the server's configuration file, such as an `authorization` block. */
  config?: string;
}

const CREDENTIALS = resolve(__dirname, '../../../deploy/nats/credentials.mjs');
const EIGHT_MEBIBYTE = 8 * 1024 * 1024;

/** A nats-server of its own on 127.0.0.1. */
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

  /** Context file of a user, where the server has those of `deploy/nats`. */
  contextFile(user: string): string {
    return join(this.temporary, 'users', `${user}.json`);
  }

  get output(): string {
    return this.process?.output ?? '';
  }

  /** Starts the server again on the same port and store. */
  async launch(): Promise<void> {
    if (this.process?.running === true) return;
    const started = Launched.start(findNatsServer(), ['-c', this.configPath]);
    this.process = started;
    const settled = () => !started.running || started.output.includes('Server is ready');
    await eventually(`nats-server on port ${this.port}`, settled, 20_000);
    if (!started.running) throw new Error(`nats-server ended: ${started.output}`);
  }

  /** SIGKILL; the store stays. */
  async kill(): Promise<void> {
    await this.process?.kill();
  }

  /** SIGKILL, a pause, and a new start on the same store. */
  async restart(pauseMs = 0): Promise<void> {
    await this.kill();
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    await this.launch();
  }

  /** Takes the store away, as where a broker comes back on a new disk. Only while it is not running. */
  loseStore(): void {
    rmSync(this.storeDir, { recursive: true, force: true });
    mkdirSync(this.storeDir, { recursive: true });
  }

  /** Keeps a copy of the store as it is on disk now. */
  saveStore(): void {
    rmSync(this.copy, { recursive: true, force: true });
    cpSync(this.storeDir, this.copy, { recursive: true });
  }

  /**
   * Puts the copy in place of the store, as after a machine lost its power before the latest was on disk. Only while the server is not
   * running.
   * @param streams what is put back of streams: all, or their messages alone, not how far their consumers had come
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

  /** Ends the server and removes what is temporary. */
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
