import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, openSync, closeSync, existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort, eventually } from '@ui-rl/testkit';

export interface SkyRlOptions {
  /** Virtual environment with SkyRL's dependencies and `uv`. */
  python: string;
  /** Checkout of SkyRL. */
  skyrl: string;
  /** Qwen3 text model. */
  model: string;
  /** Folder of its database, checkpoints, compiled graphs and log. */
  folder: string;
  rank: number;
  /** Prompts that are sampled together. */
  rows: number;
}

const START_MS = 10 * 60_000;

/** SkyRL's server with its JAX backend on the CPU, which can be killed and restarted with the same database. */
export class SkyRlServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly options: SkyRlOptions,
    private readonly port: number,
  ) {}

  static async start(options: SkyRlOptions): Promise<SkyRlServer> {
    const server = new SkyRlServer(options, await freePort());
    await server.begin();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async begin(): Promise<void> {
    const { python, skyrl, model, folder, rank, rows } = this.options;
    const venv = resolve(python);
    if (!existsSync(join(venv, 'bin/uv')))
      throw new Error(`${venv} has no uv, which SkyRL's server starts its engine with`);
    mkdirSync(join(folder, 'checkpoints'), { recursive: true });
    const log = openSync(join(folder, 'server.log'), 'a');
    const backend = {
      max_lora_adapters: 3,
      max_lora_rank: rank,
      sample_max_num_sequences: rows,
      // A single shape to compile, for any batch.
      train_micro_batch_size: 1,
    };
    const options = {
      'base-model': model,
      backend: 'jax',
      port: String(this.port),
      host: '127.0.0.1',
      'database-url': `sqlite:///${join(folder, 'tinker.db')}`,
      'checkpoints-base': join(folder, 'checkpoints'),
      'backend-config': JSON.stringify(backend),
    };
    const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
    this.child = spawn(
      join(venv, 'bin/uv'),
      ['run', '--no-project', '--active', '-m', 'skyrl.tinker.api', ...flags],
      {
        cwd: folder,
        env: {
          ...process.env,
          VIRTUAL_ENV: venv,
          PATH: `${join(venv, 'bin')}:${process.env.PATH}`,
          PYTHONPATH: resolve(skyrl),
          HF_HUB_OFFLINE: '1',
          JAX_PLATFORMS: 'cpu',
          // Otherwise a restarted server would compile everything again.
          JAX_COMPILATION_CACHE_DIR: process.env.JAX_COMPILATION_CACHE_DIR ?? join(folder, 'compiled'),
          JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS: '0.3',
        },
        stdio: ['ignore', log, log],
        // It starts a child process: both are ended together.
        detached: true,
      },
    );
    closeSync(log);
    await eventually("SkyRL's server", () => this.answers(), START_MS, 1_000);
  }

  /** Kills without warning, like a power failure. */
  async kill(): Promise<void> {
    const { child } = this;
    if (child?.pid === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolved) => child.once('exit', resolved));
    process.kill(-child.pid, 'SIGKILL');
    await ended;
  }

  private async answers(): Promise<boolean> {
    if (this.child?.exitCode !== null) throw new Error('it has ended; see server.log');
    return (await fetch(`${this.url}/api/v1/healthz`)).ok;
  }
}
