import { spawn, type ChildProcess } from 'node:child_process';
import { eventually } from '@ui-rl/testkit';

/** Time limit of one command. */
const TIMEOUT_MS = 120_000;
const INTERRUPT_MS = 30_000;

/** A command in its own shell. */
export class Typed {
  output = '';
  /** Undefined while it runs; null if a signal ended it. */
  status: number | null | undefined;
  seconds = 0;
  /** It did not end after an interrupt. */
  killed = false;
  private readonly child: ChildProcess;

  constructor(script: string, cwd: string, env: Record<string, string>) {
    const began = Date.now();
    // Its own process group, so that Ctrl-C reaches all of its processes.
    this.child = spawn('sh', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on('data', (data: Buffer) => (this.output += data.toString('utf8')));
    }
    this.child.once('close', (status) => {
      this.status = status;
      this.seconds = (Date.now() - began) / 1000;
    });
  }

  /** Resolves when it has ended, or printed the expected text. One that does neither in time is interrupted. */
  async settles(pattern?: RegExp): Promise<void> {
    const settled = () => this.status !== undefined || pattern?.test(this.output) === true;
    try {
      await eventually('a command to end, or to say that it is ready', settled, TIMEOUT_MS);
    } catch (error) {
      await this.interrupt();
      // Not 0, even if it handles the interrupt well.
      this.status = null;
      this.output += (error as Error).message;
    }
  }

  /** Sends Ctrl-C; SIGKILL if that does not end it. */
  async interrupt(): Promise<void> {
    if (this.status !== undefined) return;
    this.signal('SIGINT');
    const ended = () => this.status !== undefined;
    await eventually('an interrupted command to end', ended, INTERRUPT_MS).catch(() => {
      this.killed = true;
      this.signal('SIGKILL');
    });
  }

  private signal(name: NodeJS.Signals): void {
    if (this.child.pid !== undefined) process.kill(-this.child.pid, name);
  }
}
