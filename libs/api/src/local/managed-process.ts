import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { DEADLINES, pauseAfter, RETRIES, type RetryPolicy } from '@ui-rl/retry';

export interface ProcessSpec {
  name: string;
  command: string;
  args: string[];
  env?: Record<string, string | undefined>;
  /** Standard output and error are appended to this file. */
  logFile: string;
  /** Restarts the process when it exits unexpectedly. */
  restart?: boolean;
  /** Called with the process id after each start. */
  onStart?: (pid: number) => void;
}

const RSS_INTERVAL_MS = 2_000;
/** Number of exits in a row after which each one shows the log. */
const SHOW_LOG_AFTER = 3;

/** Peak resident set of a process in bytes; 0 if the system does not report it. */
function peakRssBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

/** Kills a child and every process that it left behind. */
function killGroup(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The whole group has already exited.
  }
}

/** A child process with a log file, restarts, peak memory and graceful shutdown. */
export class ManagedProcess {
  private child: ChildProcess | null = null;
  private stopping = false;
  /** Exits in a row without a stable period in between. */
  private failures = 0;
  private startedAt = 0;
  private timer: NodeJS.Timeout | null = null;
  /** Peak resident set over all restarts, in bytes. */
  peakRss = 0;

  constructor(
    readonly spec: ProcessSpec,
    private readonly onWarning: (message: string) => void,
    private readonly policy: Pick<RetryPolicy, 'firstMs' | 'maxMs'> & { steadyMs: number } = RETRIES.restart,
  ) {}

  start(): void {
    mkdirSync(dirname(this.spec.logFile), { recursive: true });
    const log = openSync(this.spec.logFile, 'a');
    // The channel lets the child notice when its parent is gone, however the parent ended.
    const child = spawn(this.spec.command, this.spec.args, {
      stdio: ['ignore', log, log, 'ipc'],
      env: this.spec.env,
      // In a separate group, so that Ctrl-C on the terminal reaches only this process, which then stops the children
      // in order.
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

  /** Sends SIGTERM, then SIGKILL if the process has not exited in time. */
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
