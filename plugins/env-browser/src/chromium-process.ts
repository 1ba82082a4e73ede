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
  /** User and group the browser runs as; null: those of this process. */
  user: number | null;
  /** Beyond it, no process of the browser gets more memory. */
  processBytes: number;
  /** Of the JavaScript heap of each page. */
  heapBytes: number;
  /** Origins without TLS that count as secure. */
  trustedOrigins: readonly string[];
}

/** Where the programs are that a browser may call, whatever this process has been told. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/run/current-system/sw/bin';
/** Below that, shared memory of some pages does not fit into `/dev/shm`: containers have 64 MiB. */
const ENOUGH_SHARED_MEMORY = 2 ** 30;
const KEPT_OUTPUT = 4_000;
/** How long processes that were killed may take to end, on a busy machine. */
const DYING_MS = 3_000;
const POLL_MS = 10;
/** After which a folder that was removed is looked for again. */
const SETTLES_MS = 50;

const running = new Set<ChromiumProcess>();
process.on('exit', () => running.forEach((browser) => browser.endNow()));

/**
 * A browser process with an environment, a home and a temporary folder of its own: it inherits nothing of the service's
 * environment, and leaves nothing behind.
 */
export class ChromiumProcess {
  readonly pipe: CdpPipe;
  /** When it is gone. */
  readonly exited: Promise<void>;
  /** The end of what it said. */
  output = '';

  private constructor(
    private readonly child: ChildProcess,
    /** Its folder for everything it writes. */
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

  /** Throws what the system refuses it with, such as another user. */
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

  /** Of the main process; undefined where it did not start. */
  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Ends it with all its processes. */
  kill(): void {
    if (this.pid === undefined) return;
    try {
      process.kill(-this.pid, 'SIGKILL');
    } catch {
      // It was faster.
    }
  }

  /** The same, where this process ends at once. */
  endNow(): void {
    this.kill();
    this.removeHome();
  }

  /** Its processes outlive the first of them by a moment, in which they write, and make folders again that are gone. */
  private async gone(): Promise<void> {
    this.kill();
    for (let waited = 0; this.isAnyLeft() && waited < DYING_MS; waited += POLL_MS) await sleep(POLL_MS);
    // Some are in no group of ours.
    for (let waited = 0; existsSync(this.home) && waited < DYING_MS; waited += SETTLES_MS) {
      this.removeHome();
      await sleep(SETTLES_MS);
    }
    running.delete(this);
  }

  /** Whether a process of its group is still there. */
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
      // What stays, lies in the folder of temporary files.
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

/** A folder for profile and temporary files, where the user of the browser gets to it. */
function makeHome(user: number | null): string {
  const folder = user === null || isOpenToOthers(tmpdir()) ? tmpdir() : '/tmp';
  return mkdtempSync(join(folder, 'uirl-browser-'));
}

/** Whether another user gets to what lies below. */
function isOpenToOthers(folder: string): boolean {
  const isOpen = (statSync(folder).mode & 0o001) !== 0;
  return isOpen && (dirname(folder) === folder || isOpenToOthers(dirname(folder)));
}
