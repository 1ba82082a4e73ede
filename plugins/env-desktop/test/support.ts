import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sessions, type Environment, type Screenshot, type Task } from '@ui-rl/plugin-kit';
import { findChromium, Player, value } from '@ui-rl/testkit';
import sharp from 'sharp';
import desktop from '../src/index';
import { DesktopOptions } from '../src/options';
import { FIRST_USER, ownerIn, USERS, type Owner } from '../src/owner';
import { Seat } from '../src/seat';

export const SCREEN = { width: 320, height: 240 };

export { Player, value };

/** Time limit of a step. */
const STEP_MS = 30_000;

/** A desktop environment with sessions, a list of applications and a folder of pages. */
export class Lab {
  /** A folder that the users of desktops can access. */
  readonly folder = mkdtempSync(join(tmpdir(), 'desktops-'));
  readonly log: string[] = [];
  readonly pages: Record<string, string> = {};
  variables: Record<string, string> = {};
  environment: Environment;
  sessions: Sessions;

  /** The seats of all opened desktops. */
  readonly seats: Seat[] = [];
  private readonly take = Seat.take.bind(Seat);

  constructor() {
    chmodSync(this.folder, 0o755);
    Seat.take = () => {
      const seat = this.take();
      this.seats.push(seat);
      return seat;
    };
  }

  /** Traces left by its desktops so far. */
  traces(): string[] {
    return this.seats.flatMap((seat) => tracesOf(seat));
  }

  /** Creates a page from HTML. */
  addPage(name: string, html: string): void {
    this.pages[name] = join(this.folder, name);
    mkdirSync(this.pages[name]);
    writeFileSync(join(this.pages[name], 'index.html'), `<!doctype html><meta charset="utf-8">${html}`);
  }

  /** @param applications in the format of the applications file */
  async start(applications: object, options: Partial<DesktopOptions> = {}, maxSessions = 4): Promise<this> {
    const log = (level: string, message: string) => void this.log.push(`${level} ${message}`);
    const file = join(this.folder, 'applications.yaml');
    writeFileSync(file, JSON.stringify(applications));
    this.environment = await desktop.create(Object.assign(new DesktopOptions(), options), {
      pages: this.pages,
      maxSessions,
      programs: { chromium: findChromium() },
      variables: { DESKTOP_APPLICATIONS: file, ...this.variables },
      log,
    });
    this.sessions = new Sessions(this.environment, { maxSessions, log, closeDeadlineMs: 20_000 });
    return this;
  }

  async stop(): Promise<void> {
    await this.sessions?.close();
    Seat.take = this.take;
    rmSync(this.folder, { recursive: true });
  }

  open(options: Record<string, unknown>, { seed = 1, deadlineMs = 60_000 } = {}) {
    const task: Task = {
      description: 'test',
      environment: { kind: 'desktop', options: { screen: SCREEN, ...options } },
    };
    return this.sessions.open({ task, seed, leaseMs: 120_000, deadlineMs });
  }

  async play(options: Record<string, unknown>, rest = {}): Promise<Player> {
    const { sessionId, screenshot } = value(await this.open(options, rest));
    return new Player(this.sessions, sessionId, screenshot, STEP_MS);
  }
}

/** Traces that a failed desktop leaves: processes, display, files. */
export function tracesOf({ number, owner, user }: Pick<Seat, 'number' | 'owner' | 'user'>): string[] {
  const named = [`/tmp/uirl-desktop-${number}`, `/tmp/.X${number}-lock`, `/tmp/.X11-unix/X${number}`];
  const found = [...named.filter((path) => existsSync(path)), ...(user === null ? [] : filesOf(user))];
  return [...processesOf(owner).map(({ name }) => `process ${name}`), ...found];
}

/** All desktop processes on this machine, or those of one desktop. */
export function processesOf(owner?: Owner): { pid: number; name: string }[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const status = readFileSync(`/proc/${pid}/status`, 'latin1');
      const found = ownerIn(status, pid);
      const isWanted = owner === undefined ? found !== null : found === owner;
      if (!isWanted || /^State:\s+[ZX]/m.test(status)) return [];
      return [{ pid: Number(pid), name: /^Name:\s+(.*)$/m.exec(status)![1] }];
    } catch {
      return [];
    }
  });
}

const isUserOfDesktops = (user: number) => user >= FIRST_USER && user < FIRST_USER + USERS;

/** Files of a user, or of all desktop users, in folders that all users can write to. */
export function filesOf(user?: number): string[] {
  return ['/tmp', '/tmp/.X11-unix', '/var/tmp', '/dev/shm'].flatMap((folder) =>
    namesIn(folder)
      .map((name) => join(folder, name))
      .filter((path) => {
        const { uid } = lstatSync(path, { throwIfNoEntry: false }) ?? { uid: 0 };
        return user === undefined ? isUserOfDesktops(uid) : uid === user;
      }),
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Color of a pixel as red, green, blue. */
export async function pixelOf({ png }: Screenshot, x: number, y: number): Promise<number[]> {
  const { data, info } = await sharp(png).raw().toBuffer({ resolveWithObject: true });
  const at = (y * info.width + x) * info.channels;
  return [...data.subarray(at, at + 3)];
}

export async function until(condition: () => boolean, timeoutMs = 20_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`it did not happen in ${timeoutMs} ms: ${condition.toString()}`);
    await sleep(20);
  }
}
