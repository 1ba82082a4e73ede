import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DEADLINES, pauseAfter, RETRIES, type RetryPolicy } from '@ui-rl/retry';

export interface ProcessSpec {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string | undefined>;
  /** Standard output and error are appended here. */
  logFile: string;
  /** Start it again when it ends without having been asked to. */
  restart?: boolean;
  /** Called with the process id after each start. */
  onStart?: (pid: number) => void;
}

const RSS_INTERVAL_MS = 2_000;
/** Ends in a row after which the log is shown with each of them. */
const SHOW_LOG_AFTER = 3;

/** The highest resident set of a process so far in bytes, or 0 where the system does not report it. */
function peakRssBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Ends a child and whatever it started and left behind. */
function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has ended by itself.
  }
}

/** A child process with a log file, restarts, peak memory and an orderly end. */
export class ManagedProcess {
  private child: ChildProcess | null = null;
  private stopping = false;
  /** Ends in a row, none of them after a steady life. */
  private failures = 0;
  private startedAt = 0;
  private timer: NodeJS.Timeout | null = null;
  /** Highest resident set of any incarnation, bytes. */
  peakRss = 0;

  constructor(
    readonly spec: ProcessSpec,
    private readonly onWarning: (message: string) => void,
    private readonly policy: Pick<RetryPolicy, 'firstMs' | 'maxMs'> & { steadyMs: number } = RETRIES.restart,
  ) {}

  start(): void {
    mkdirSync(dirname(this.spec.logFile), { recursive: true });
    const log = openSync(this.spec.logFile, 'a');
    // The channel lets the child notice that its parent is gone, however the parent ended.
    const child = spawn(this.spec.command, this.spec.args, {
      stdio: ['ignore', log, log, 'ipc'],
      env: this.spec.env,
      // A group of its own: Ctrl-C on the terminal reaches this process alone, which then ends the children in order.
      detached: true,
    });
    closeSync(log);
    this.child = child;
    this.startedAt = performance.now();
    if (child.pid !== undefined) this.spec.onStart?.(child.pid);
    child.on('error', (error) => this.onWarning(`${this.spec.name} could not be started: ${error.message}`));
    child.on('exit', (code, signal) => this.exited(child, code, signal));
    this.timer ??= setInterval(() => this.sampleMemory(), RSS_INTERVAL_MS);
    this.timer.unref();
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  private sampleMemory(): void {
    const pid = this.child?.pid;
    if (pid !== undefined) this.peakRss = Math.max(this.peakRss, peakRssBytes(pid));
  }

  private exited(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.child !== child) return;
    this.child = null;
    if (this.stopping) return;
    const how = signal ?? `exit code ${code}`;
    const { name, logFile, restart = false } = this.spec;
    const lived = performance.now() - this.startedAt;
    this.failures = lived >= this.policy.steadyMs ? 1 : this.failures + 1;
    const tail = !restart || this.failures >= SHOW_LOG_AFTER ? `\n${this.logTail()}` : '';
    if (!restart) {
      this.onWarning(`${name} ended (${how}); its log: ${logFile}${tail}`);
      return;
    }
    const pauseMs = pauseAfter(this.policy, this.failures);
    this.onWarning(
      `${name} ended (${how}) and is started again in ${pauseMs / 1000} s; its log: ${logFile}${tail}`,
    );
    setTimeout(() => {
      if (!this.stopping) this.start();
    }, pauseMs);
  }

  private logTail(): string {
    return readFileSync(this.spec.logFile, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  }

  /** SIGTERM, then SIGKILL when it has not ended in time. */
  async stop(): Promise<void> {
    this.stopping = true;
    if (this.timer) clearInterval(this.timer);
    this.sampleMemory();
    const child = this.child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const killer = setTimeout(() => killGroup(child), DEADLINES.stopProcess.ms);
    await ended;
    clearTimeout(killer);
    killGroup(child);
  }
}
