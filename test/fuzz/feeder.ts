import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Place } from './place';
import type { Order, Report, Slowest } from './target';
import { type Trend, trendOf } from '@ui-rl/testkit';

const root = join(__dirname, '../..');
/** Time after which an input counts as hung. */
const HANG_MS = 60_000;
const LOOK_MS = 500;
/** Limit of V8's heap. */
const HEAP_MEGABYTES = 512;
/** Bytes by which caches may still grow after the first fifth of the inputs. */
const MOST_GROWTH = 16e6;

/** The result of an order. */
export interface Turn extends Order {
  accepted: number;
  seconds: number;
  slowest: Slowest;
  rss: Trend;
  retained: Trend;
  /** The failure, and the number of its input: the last one fed. */
  failure?: { at: number; message: string };
}

export interface FeederOptions {
  /** Module with `targets`; by default all targets. */
  targets?: string;
  hangMs?: number;
}

type Look = readonly [fed: number, bytes: number];

/** A monitored process that feeds targets one after the other; replaced if it crashes or hangs. */
export class Feeder {
  /** Resident bytes of the process by number of inputs, over all targets. */
  rss: Look[] = [];
  private child: ChildProcess | undefined;
  private ready: Promise<unknown> = Promise.resolve();
  private orders = 0;
  private fed = 0;
  private said = '';
  private readonly folder = mkdtempSync(join(tmpdir(), 'uirl-fuzz-'));

  constructor(private readonly options: FeederOptions = {}) {}

  async feed(order: Order): Promise<Turn> {
    if (this.child?.connected !== true) this.child = this.start();
    const { child } = this;
    await this.ready;
    const began = Date.now();
    const looks = { rss: [] as Look[], retained: [] as Look[] };
    this.orders += 1;
    const end = await this.outcome(child, order, looks);
    // It may still be feeding, if the error came from outside the feeding.
    if (end.type === 'failed') await this.end();
    const to = end.type === 'failed' ? end.at + 1 : order.to;
    this.fed += to - order.from;
    const turn: Turn = {
      ...order,
      to,
      accepted: end.type === 'done' ? end.accepted : 0,
      slowest: end.type === 'done' ? end.slowest : { at: order.from, ms: 0 },
      seconds: (Date.now() - began) / 1_000,
      rss: trendOf(looks.rss),
      retained: trendOf(looks.retained),
    };
    if (end.type === 'failed') return { ...turn, failure: { at: end.at, message: end.message } };
    return { ...turn, ...kept(turn) };
  }

  /** Ends the process and removes its files. */
  async stop(): Promise<void> {
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private start(): ChildProcess {
    const child = fork(
      join(root, 'libs/testkit/run-ts.cjs'),
      [
        join(__dirname, 'feed.ts'),
        join(this.folder, 'place'),
        this.options.targets ?? join(__dirname, 'targets.ts'),
      ],
      {
        execArgv: ['--expose-gc', `--max-old-space-size=${HEAP_MEGABYTES}`],
        env: { ...process.env, TMPDIR: this.folder },
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      },
    );
    Object.assign(this, { orders: 0, fed: 0, said: '', rss: [] });
    child.stderr?.on('data', (text: Buffer) => (this.said = (this.said + text.toString()).slice(-4_000)));
    this.ready = new Promise((resolve, reject) => {
      child.once('message', resolve);
      child.once('close', () => reject(new Error(`the process did not start:\n${this.said}`)));
    });
    return child;
  }

  private async outcome(
    child: ChildProcess,
    order: Order,
    looks: { rss: Look[]; retained: Look[] },
  ): Promise<Extract<Report, { type: 'done' }> | { type: 'failed'; at: number; message: string }> {
    const place = new Place(join(this.folder, 'place'), 'r');
    const at = () => {
      const { order: number, at: input } = place.read();
      return number === this.orders ? input : order.from;
    };
    let watch: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve) => {
        const failed = (message: string) => resolve({ type: 'failed', at: at(), message });
        child.on('message', (report: Report) => {
          if (report.type === 'memory') {
            looks.rss.push([report.fed, report.rss]);
            looks.retained.push([report.fed, report.retained]);
            this.rss.push([this.fed + report.fed, report.rss]);
          } else if (report.type === 'failed') failed(report.message);
          else if (report.type === 'done') resolve(report);
        });
        child.once('close', (code, signal) => {
          failed(`the process ended with ${signal ?? code}\n${this.said}`);
        });
        const { hangMs = HANG_MS } = this.options;
        watch = watched(at, hangMs, () => failed(`no answer for ${hangMs / 1_000} s`));
        child.send(order);
      });
    } finally {
      clearInterval(watch);
      child.removeAllListeners('message').removeAllListeners('close');
      place.close();
    }
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

/** Calls back if the position has not changed for too long. */
function watched(at: () => number, hangMs: number, hangs: () => void): NodeJS.Timeout {
  let [last, since] = [-1, Date.now()];
  return setInterval(() => {
    const now = at();
    if (now !== last) [last, since] = [now, Date.now()];
    else if (Date.now() - since > hangMs) hangs();
  }, LOOK_MS);
}

/** The failure for a memory leak beyond the allowance for caches. */
function kept({ to, retained: { begin, end } }: Turn): Pick<Turn, 'failure'> {
  if (end - begin <= MOST_GROWTH) return {};
  return {
    failure: { at: to - 1, message: `${Math.round((end - begin) / 1e6)} MB more are kept at the end` },
  };
}
