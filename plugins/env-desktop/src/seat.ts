import { spawn, spawnSync, type ChildProcess, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DesktopError } from './errors';
import { PATH } from './find-programs';
import { KEEPER_SCRIPT } from './keeper-script';
import { FIRST_USER, MARK, USERS, type Owner } from './owner';
import { Program } from './program';
import { sandboxed } from './sandbox';

/** X servers keep their locks and sockets there, regardless of TMPDIR. */
const TEMPORARY = '/tmp';
const FOLDER = 'uirl-desktop-';
const FIRST_NUMBER = 100;
/** Makes processes start their search at different numbers, which avoids most collisions. */
const STRIDE = 37;
/** Allowance of a single process above the limit, for reserved virtual memory that is never touched. */
const UNTOUCHED_MB = 2_048;
const MOST_THREADS = 4_096;
/** The keeper kills, waits and removes for at most three seconds; longer on a busy machine. */
const ENDS_WITHIN_MS = 20_000;
/** A folder without a registered keeper after this time belongs to a service that ended meanwhile. */
const STARTS_WITHIN_MS = 60_000;

/** Displays that this process has requested. */
let taken = 0;

export interface StartOptions {
  /** Further environment variables. */
  environment?: Readonly<Record<string, string>>;
  stdio?: StdioOptions;
  /** False for its own network namespace without routes. */
  network: boolean;
  memoryMb: number;
  /**
   * The sandbox for programs that do not have their own user, with additional readable files and folders. Absent for
   * none.
   */
  sandbox?: { files: readonly string[] } | undefined;
}

/**
 * A display number, a folder and, if this process is root, a user id, all exclusive on this machine. Ending it ends
 * all of its processes and removes their files, even if this process is killed.
 */
export class Seat {
  private readonly programs: Program[] = [];
  private readonly mark = randomUUID();
  private readonly keeper: ChildProcess;
  private readonly keeperGone: Promise<void>;

  private isOver = false;

  private constructor(
    readonly number: number,
    readonly folder: string,
    /** Null for the user of this process. */
    readonly user: number | null,
  ) {
    this.keeper = startKeeper(this.mark, user, number, folder);
    this.keeperGone = new Promise((resolve) => {
      this.keeper.once('error', () => resolve());
      this.keeper.once('exit', () => resolve());
    });
    this.keeper.unref();
    writeFileSync(join(folder, 'keeper'), identityOf(this.keeper.pid ?? 0) ?? '');
    for (const name of ['home', 'tmp', 'run']) this.makeFolder(name);
  }

  /** Throws a `DesktopError` `no_desktop` if all are in use. */
  static take(): Seat {
    const isRoot = process.getuid?.() === 0;
    if (isRoot) makeSocketFolder();
    for (let tries = 0; tries < USERS; tries++) {
      const number = FIRST_NUMBER + ((process.pid * STRIDE + taken++) % USERS);
      const folder = reserve(number);
      if (folder === null) continue;
      return new Seat(number, folder, isRoot ? FIRST_USER + number - FIRST_NUMBER : null);
    }
    throw new DesktopError('no_desktop', `all ${USERS} displays from :${FIRST_NUMBER} on are taken`);
  }

  get home(): string {
    return join(this.folder, 'home');
  }

  /** Writes a file that the programs of the desktop can read. */
  write(name: string, content: string | Uint8Array): string {
    const path = join(this.folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    this.own(path);
    return path;
  }

  /** Makes the desktop's user the owner of a file, or of a folder with its contents. */
  own(path: string): void {
    if (this.user === null) return;
    lchownSync(path, this.user, this.user);
    if (!lstatSync(path).isDirectory()) return;
    for (const name of readdirSync(path)) this.own(join(path, name));
  }

  start(command: readonly string[], options: StartOptions): Program {
    const { environment, stdio, memoryMb } = options;
    if (this.isOver) throw new DesktopError('crashed', 'the desktop has ended');
    const [file, ...args] = [
      ...this.confinement(options),
      'prlimit',
      '--core=0',
      `--data=${(memoryMb + UNTOUCHED_MB) * 2 ** 20}`,
      // This limit counts threads per user.
      ...(this.user === null ? [] : [`--nproc=${MOST_THREADS}`]),
      '--',
      ...command,
    ];
    const child = spawn(file, args, {
      cwd: this.home,
      detached: true,
      env: { ...this.environment(), ...environment, [MARK]: this.mark },
      stdio: stdio ?? ['ignore', 'pipe', 'pipe'],
    });
    const program = new Program(command[0], child);
    this.programs.push(program);
    return program;
  }

  /** The owner of this desktop's processes. */
  get owner(): Owner {
    return this.user === null ? `mark ${this.mark}` : `user ${this.user}`;
  }

  /** Ends all processes and removes all files. Never throws. */
  async end(): Promise<void> {
    this.isOver = true;
    this.keeper.ref();
    this.keeper.stdin?.end();
    const limit = AbortSignal.timeout(ENDS_WITHIN_MS);
    const late = new Promise<void>((resolve) =>
      limit.addEventListener('abort', () => resolve(), { once: true }),
    );
    await Promise.race([this.keeperGone, late]);
    // In case the keeper itself was killed before it could clean up.
    if (existsSync(this.folder)) sweep(this.mark, this.user, this.number, this.folder);
    await Promise.race([Promise.all(this.programs.map(({ ended }) => ended)), late]);
  }

  private confinement({ network, sandbox }: StartOptions): string[] {
    if (this.user !== null || sandbox === undefined) return confined(this.user, network);
    const { folder, number } = this;
    return sandboxed({ folder, number, network, files: sandbox.files });
  }

  private environment(): Record<string, string> {
    return {
      PATH,
      HOME: this.home,
      TMPDIR: join(this.folder, 'tmp'),
      XDG_RUNTIME_DIR: join(this.folder, 'run'),
      USER: 'desktop',
      LOGNAME: 'desktop',
      LANG: 'C.UTF-8',
      // Programs that find no session bus would start their own.
      DBUS_SESSION_BUS_ADDRESS: 'disabled:',
      NO_AT_BRIDGE: '1',
    };
  }

  private makeFolder(name: string): void {
    const path = join(this.folder, name);
    mkdirSync(path, { mode: 0o700 });
    this.own(path);
  }
}

/** Removes the files of services that were killed together with their keepers. */
export function sweepLeftOvers(): void {
  for (const name of readdirSync(TEMPORARY).filter((each) => each.startsWith(FOLDER))) {
    const folder = join(TEMPORARY, name);
    const number = Number(name.slice(FOLDER.length));
    if (!isAbandoned(folder)) continue;
    const isRoot = process.getuid?.() === 0;
    sweep('nobody', isRoot ? FIRST_USER + number - FIRST_NUMBER : null, number, folder);
  }
}

function isAbandoned(folder: string): boolean {
  try {
    const note = join(folder, 'keeper');
    const { uid, birthtimeMs } = statSync(folder);
    if (uid !== process.getuid?.()) return false;
    if (!existsSync(note)) return Date.now() - birthtimeMs > STARTS_WITHIN_MS;
    const noted = readFileSync(note, 'utf8');
    return identityOf(Number.parseInt(noted)) !== noted;
  } catch {
    return false;
  }
}

function sweep(mark: string, user: number | null, number: number, folder: string): void {
  spawnSync('/bin/sh', keeperArguments(mark, user, number, folder), {
    input: '',
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { PATH },
    timeout: ENDS_WITHIN_MS,
  });
}

/** Creating the folder reserves the number, since only one process can create it. Null if the number is in use. */
function reserve(number: number): string | null {
  if (existsSync(`${TEMPORARY}/.X${number}-lock`) || existsSync(`${TEMPORARY}/.X11-unix/X${number}`))
    return null;
  const folder = join(TEMPORARY, `${FOLDER}${number}`);
  try {
    mkdirSync(folder, { mode: 0o755 });
    return folder;
  } catch {
    return null;
  }
}

function startKeeper(mark: string, user: number | null, number: number, folder: string): ChildProcess {
  return spawn('/bin/sh', keeperArguments(mark, user, number, folder), {
    // In a separate process group, so that it outlives signals sent to this process's group.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
    env: { PATH },
  });
}

function keeperArguments(mark: string, user: number | null, number: number, folder: string): string[] {
  return ['-c', KEEPER_SCRIPT, 'ui-rl-desktop-keeper', mark, String(user ?? ''), String(number), folder];
}

/** The command prefix that runs as the desktop's user, and without network access if required. */
function confined(user: number | null, network: boolean): string[] {
  if (user === null) return network ? [] : ['unshare', '--user', '--map-current-user', '--net', '--'];
  const lent = ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--no-new-privs', '--'];
  return network ? lent : ['unshare', '--net', '--', ...lent];
}

/** The isolation features that the kernel supports. */
export interface Kernel {
  /** Network namespaces. */
  network: boolean;
  /** Namespaces for the sandbox. */
  namespaces: boolean;
  /** A separate user, or the sandbox that protects files of this process's user. */
  confinement: boolean;
}

export function whatKernelAllows(): Kernel {
  const works = ([file, ...args]: string[]) =>
    spawnSync(file, args, { stdio: 'ignore', env: { PATH } }).status === 0;
  const user = process.getuid?.() === 0 ? FIRST_USER : null;
  return {
    network: works([...confined(user, false), 'true']),
    namespaces: works([...confined(user, true), 'unshare', '--user', 'true']),
    confinement: user !== null || hasSandbox(works),
  };
}

/** Tests with a folder like that of a desktop. */
function hasSandbox(works: (command: string[]) => boolean): boolean {
  const folder = mkdtempSync(join(TEMPORARY, 'uirl-sandbox-'));
  try {
    for (const name of ['home', 'tmp', 'run']) mkdirSync(join(folder, name));
    return works([...sandboxed({ folder, number: 0, network: true, files: [] }), 'true']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates the folder of X server sockets, as the first X server started by root does. */
function makeSocketFolder(): void {
  const folder = `${TEMPORARY}/.X11-unix`;
  if (existsSync(folder)) return;
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o1777);
}

/** Identifies a process even if its pid is reused later. Null if there is none. */
function identityOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // Fields after the name, which may contain anything; the 20th of these is the start time.
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return null;
  }
}
