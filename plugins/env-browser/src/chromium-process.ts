import { spawn, type ChildProcess } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { CdpPipe } from './cdp-pipe';
import { chromiumArguments } from './chromium-arguments';

export interface ChromiumCommand {
  executablePath: string;
  sandbox: boolean;
  /** User and group id of the browser; null for those of this process. */
  user: number | null;
  /** Maximum data segment of each browser process, in bytes. */
  processBytes: number;
  /** Maximum JavaScript heap of each page, in bytes. */
  heapBytes: number;
  /** Origins without TLS that are treated as secure. */
  trustedOrigins: readonly string[];
}

/** Search path of the browser, independent of this process's environment. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin';
/** Minimum size of `/dev/shm` in bytes; containers have 64 MiB by default, which is too small for some pages. */
const ENOUGH_SHARED_MEMORY = 2 ** 30;
const KEPT_OUTPUT = 4_000;
/** How long killed processes may take to exit on a busy machine. */
const DYING_MS = 3_000;
const POLL_MS = 10;
/** Interval of checking whether a removed folder has reappeared. */
const SETTLES_MS = 50;

const running = new Set<ChromiumProcess>();
process.on('exit', () => running.forEach((browser) => browser.endNow()));

/**
 * A browser process with its own environment, home and temporary folder. It inherits nothing from the service's
 * environment and cleans up after itself.
 */
export class ChromiumProcess {
  readonly pipe: CdpPipe;
  /** Resolves when all processes are gone. */
  readonly exited: Promise<void>;
  /** The last part of its output. */
  output = '';

  private constructor(
    private readonly child: ChildProcess,
    /** Folder for all files that the browser writes. */
    readonly home: string,
  ) {
    running.add(this);
    const [, , stderr, input, output] = child.stdio as [null, null, Readable, Writable, Readable];
    stderr.on('data', (text: Buffer) => {
      this.output = (this.output + text.toString()).slice(-KEPT_OUTPUT);
    });
    this.pipe = new CdpPipe(input, output, () => this.kill());
    this.exited = new Promise((resolve) => {
      child.once('error', (error) => {
        this.output += error.message;
        resolve(this.gone());
      });
      child.once('exit', () => resolve(this.gone()));
    });
  }

  /** Throws the system's error, for example if the user cannot be changed. */
  static start(command: ChromiumCommand): ChromiumProcess {
    const home = makeHome(command.user);
    try {
      if (command.user !== null) chownSync(home, command.user, command.user);
      return new ChromiumProcess(start(command, home), home);
    } catch (error) {
      rmSync(home, { recursive: true });
      throw error;
    }
  }

  /** Process id of the main process; undefined if it did not start. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Kills it with all its child processes. */
  kill(): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // The process has already exited.
    }
  }

  /** Synchronous `kill`, for use when this process exits immediately. */
  endNow(): void {
    this.kill();
    this.removeHome();
  }

  /**
   * Child processes outlive the main process briefly, during which they may write files and recreate removed folders.
   */
  private async gone(): Promise<void> {
    this.kill();
    for (let waited = 0; this.isAnyLeft() && waited < DYING_MS; waited += POLL_MS) await sleep(POLL_MS);
    // Some processes are outside our process group.
    for (let waited = 0; existsSync(this.home) && waited < DYING_MS; waited += SETTLES_MS) {
      this.removeHome();
      await sleep(SETTLES_MS);
    }
    running.delete(this);
  }

  /** Whether a process of its group still runs. */
  private isAnyLeft(): boolean {
    try {
      return this.pid !== undefined && process.kill(-this.pid, 0);
    } catch {
      return false;
    }
  }

  private removeHome(): void {
    try {
      rmSync(this.home, { recursive: true, force: true, maxRetries: 3, retryDelay: 20 });
    } catch {
      // Remaining files stay in the temporary folder.
    }
  }
}

function start(command: ChromiumCommand, home: string): ChildProcess {
  const { executablePath, sandbox, trustedOrigins, user, processBytes, heapBytes } = command;
  const args = chromiumArguments({
    sandbox,
    trustedOrigins,
    profile: join(home, 'profile'),
    heapMb: Math.floor(heapBytes / 2 ** 20),
    sharedMemory: hasSharedMemory(),
  });
  // Only a shell can set a limit between fork and exec.
  const limited = 'ulimit -c 0; ulimit -d "$0"; exec "$@"';
  const limitKb = String(Math.floor(processBytes / 1024));
  return spawn('/bin/sh', ['-c', limited, limitKb, executablePath, ...args], {
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
    cwd: home,
    env: { PATH, HOME: home, TMPDIR: home, LANG: 'C.UTF-8' },
    ...(user === null ? {} : { uid: user, gid: user }),
  });
}

function hasSharedMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize >= ENOUGH_SHARED_MEMORY;
  } catch {
    return false;
  }
}

/** Creates a folder for profile and temporary files that the browser's user can access. */
function makeHome(user: number | null): string {
  const folder = user === null || isOpenToOthers(tmpdir()) ? tmpdir() : '/tmp';
  return mkdtempSync(join(folder, 'uirl-browser-'));
}

/** Whether other users can reach the contents of a folder. */
function isOpenToOthers(folder: string): boolean {
  const isOpen = (statSync(folder).mode & 0o001) !== 0;
  return isOpen && (dirname(folder) === folder || isOpenToOthers(dirname(folder)));
}
