import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import limits from '../time-limits.json';

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('the system gave no port'));
      });
    });
  });
}

/**
 * Polls until the condition returns a value other than false, null or undefined. Throws after `timeoutMs`, which is
 * that of an idle machine, times the factor of time-limits.json.
 */
export async function eventually<T>(
  what: string,
  condition: () => T | Promise<T>,
  timeoutMs = 15_000,
  everyMs = 25,
): Promise<NonNullable<T>> {
  const limitMs = timeoutMs * limits.factor;
  const until = Date.now() + limitMs;
  let last: unknown;
  while (Date.now() < until) {
    try {
      const found = await condition();
      if (found !== false && found !== null && found !== undefined) return found;
      last = found;
    } catch (error) {
      last = error;
    }
    await delay(everyMs);
  }
  throw new Error(`timed out after ${limitMs} ms waiting for ${what}; last seen: ${String(last)}`);
}

/** The environment variables that every child process needs. */
export function essentials(): Record<string, string> {
  const names = ['PATH', 'HOME', 'TMPDIR', 'XDG_DATA_HOME'].filter((name) => process.env[name] !== undefined);
  return Object.fromEntries(names.map((name) => [name, process.env[name]!]));
}

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** A child process with its output; killed at the latest when this process exits. */
export class Launched {
  private text = '';
  readonly exited: Promise<number | null>;

  constructor(readonly child: ChildProcess) {
    children.add(child);
    child.stdout?.on('data', (data: Buffer) => this.keep(data));
    child.stderr?.on('data', (data: Buffer) => this.keep(data));
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.text += `\n${error.message}`;
        resolve(null);
      });
      child.once('exit', (code) => {
        children.delete(child);
        resolve(code);
      });
    });
  }

  static start(command: string, args: string[], options: SpawnOptions = {}): Launched {
    return new Launched(spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options }));
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get running(): boolean {
    return this.child.pid !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Its output on stdout and stderr, at most the last 4 MB. */
  get output(): string {
    return this.text;
  }

  /** Waits until its output matches. */
  async prints(pattern: RegExp, timeoutMs = 30_000): Promise<RegExpMatchArray> {
    return eventually(
      `${pattern} in the output of ${this.child.spawnfile}:\n${this.text.slice(-2_000)}`,
      () => this.text.match(pattern),
      timeoutMs,
    );
  }

  /** Sends SIGKILL, which leaves no time for cleanup. */
  async kill(): Promise<void> {
    if (this.running) this.child.kill('SIGKILL');
    await this.exited;
  }

  /** Sends SIGTERM, and SIGKILL if the process still runs after `timeoutMs`. Returns the exit code. */
  async stop(timeoutMs = 15_000): Promise<number | null> {
    if (this.running) this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), timeoutMs);
    const code = await this.exited;
    clearTimeout(timer);
    return code;
  }

  private keep(data: Buffer): void {
    this.text = (this.text + data.toString('utf8')).slice(-4_000_000);
  }
}
