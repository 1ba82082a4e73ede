import type { Browser, BrowserContext, BrowserContextOptions, CDPSession } from 'playwright';
import { DEADLINES } from '@ui-rl/plugin-kit';
import type { ChromiumProcess } from './chromium-process';
import { BrowserError } from './errors';
import type { Launcher } from './launch';
import { watchMemory } from './memory-watch';
import type { TrafficWatch } from './traffic';

/** How long to wait for the browser's crash report after a process was killed. */
const KILLED_MS = 2_000;

type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;

export interface PoolOptions {
  contextsPerBrowser: number;
  /** Memory of one browser with all its contexts. */
  memoryBytes: number;
}

interface PooledBrowser {
  browser: Browser;
  process: ChromiumProcess;
  contexts: number;
  /** Contexts whose closing takes long: the browser gets no new ones meanwhile. */
  closing: number;
  /** Crash listeners by page id, called with the termination status of the page's process. */
  crashes: Map<string, (status: string) => void>;
  /** When one of its processes was last killed for exceeding its memory limit. */
  lackedMemoryAt: number;
  /** The browser is shutting down. */
  isEnding: boolean;
}

export interface Lease {
  context: BrowserContext;
  /** The browser's folder, which is removed with it. */
  home: string;
  /** A session with the browser, which ends with the context. */
  session(): Promise<CDPSession>;
  /**
   * Calls `onFlood` when the pages of the context send more messages than allowed. `id` is the browser's id of the
   * context.
   */
  watchTraffic(id: string, onFlood: () => void): void;
  /** Calls `onCrash` when the process of a page ends; `id` is the page's id. */
  watchCrash(id: string, onCrash: (status: string) => void): void;
  /** Whether the browser runs and is not shutting down. */
  isAlive(): boolean;
  /** Whether the pages of the context send no more messages than is normal between two steps. */
  isCalm(): boolean;
  /** Number of events that the pages of the context have sent so far. */
  events(): number;
  /** Closes the context and frees its slot. Never throws. */
  release(): Promise<void>;
}

/** The browser processes: launched on demand, several contexts in each, replaced when they crash. */
export class BrowserPool {
  private browsers: PooledBrowser[] = [];
  private starting: Promise<PooledBrowser> | null = null;
  private closed = false;

  constructor(
    private readonly launcher: Launcher,
    private readonly options: PoolOptions,
    private readonly log: Log,
  ) {}

  /** Launches one browser, so that a missing or broken installation fails early. Throws `BrowserError`. */
  async start(): Promise<void> {
    await this.launched();
  }

  /** A new context with its own profile. Throws `BrowserError` if no browser can be launched. */
  async lease(options: BrowserContextOptions): Promise<Lease> {
    const pooled = await this.acquire();
    try {
      const context = await pooled.browser.newContext(options);
      const { traffic } = pooled.process.pipe;
      let watch: TrafficWatch | null = null;
      const crashIds = new Set<string>();
      const sessions: CDPSession[] = [];
      return {
        context,
        home: pooled.process.home,
        session: async () => {
          const session = await pooled.browser.newBrowserCDPSession();
          sessions.push(session);
          return session;
        },
        watchTraffic: (id, onFlood) => void (watch = traffic.watch(id, onFlood)),
        watchCrash: (id, onCrash) => {
          pooled.crashes.set(id, onCrash);
          crashIds.add(id);
        },
        isAlive: () => !pooled.isEnding && !pooled.process.pipe.isClosed,
        isCalm: () => watch?.isCalm() ?? true,
        events: () => watch?.events() ?? 0,
        release: async () => {
          await this.release(pooled, context);
          watch?.end();
          for (const session of sessions) session.detach().catch(() => undefined);
          for (const id of crashIds) pooled.crashes.delete(id);
        },
      };
    } catch (cause) {
      pooled.contexts--;
      throw new BrowserError('crashed', `the browser could not open a context: ${messageOf(cause)}`, {
        cause,
      });
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    if (this.starting !== null) await this.starting.catch(() => undefined);
    await Promise.all(this.browsers.splice(0).map(end));
  }

  /** A browser with a free slot; reserves the slot before another caller can. */
  private async acquire(): Promise<PooledBrowser> {
    for (;;) {
      const free = this.browsers.find(
        ({ browser, contexts, closing }) =>
          browser.isConnected() && closing === 0 && contexts < this.options.contextsPerBrowser,
      );
      if (free !== undefined) {
        free.contexts++;
        return free;
      }
      await this.launched();
    }
  }

  /** Runs one launch at a time; concurrent callers share it. */
  private async launched(): Promise<PooledBrowser> {
    if (this.closed) throw new BrowserError('crashed', 'the environment is being stopped');
    this.starting ??= this.launch().finally(() => {
      this.starting = null;
    });
    return this.starting;
  }

  private async launch(): Promise<PooledBrowser> {
    const launched = await this.launcher.launch();
    const pooled: PooledBrowser = {
      ...launched,
      contexts: 0,
      closing: 0,
      crashes: new Map(),
      lackedMemoryAt: -Infinity,
      isEnding: false,
    };
    await watchCrashes(pooled);
    this.browsers.push(pooled);
    const unwatch = this.watchMemory(pooled);
    pooled.browser.on('disconnected', () => {
      unwatch();
      if (!this.browsers.includes(pooled)) return;
      this.browsers = this.browsers.filter((other) => other !== pooled);
      this.log('warn', `a browser died with ${pooled.contexts} pages; the next page starts another one`);
    });
    return pooled;
  }

  private watchMemory(pooled: PooledBrowser): () => void {
    const { memoryBytes } = this.options;
    return watchMemory(pooled.process.pid!, memoryBytes, ({ bytes }, total) => {
      pooled.lackedMemoryAt = performance.now();
      this.log(
        'warn',
        `a browser had ${megabytes(total)} MiB, more than environment.kind.memory_mb (${megabytes(memoryBytes)}): ` +
          `its largest process, with ${megabytes(bytes)} MiB, was ended`,
      );
    });
  }

  /** Returns when the context is closed, or its closing takes long. */
  private async release(pooled: PooledBrowser, context: BrowserContext): Promise<void> {
    const closing = context.close().catch(() => undefined);
    if (await isOver(closing, DEADLINES.browserClose.ms)) return this.released(pooled, true);
    // Other pages of the browser may still answer.
    pooled.closing++;
    void isOver(closing, DEADLINES.browserEnd.ms).then((closed) => {
      pooled.closing--;
      return this.released(pooled, closed);
    });
  }

  private async released(pooled: PooledBrowser, closed: boolean): Promise<void> {
    pooled.contexts--;
    if (closed && (pooled.contexts > 0 || this.browsers.length <= 1)) return;
    await this.retire(pooled, closed);
  }

  private async retire(pooled: PooledBrowser, idle: boolean): Promise<void> {
    if (!this.browsers.includes(pooled)) return;
    this.browsers = this.browsers.filter((other) => other !== pooled);
    if (!idle) this.log('warn', 'a page could not be closed, so that its browser is ended');
    await end(pooled);
  }
}

/** Only the browser session reports why a page's process ended; the page session only reports that it did. */
async function watchCrashes(pooled: PooledBrowser): Promise<void> {
  const session = await pooled.browser.newBrowserCDPSession();
  session.on('Target.targetCrashed', ({ targetId, status }) => {
    const isForMemory = performance.now() - pooled.lackedMemoryAt < KILLED_MS;
    pooled.crashes.get(targetId)?.(status === 'killed' && isForMemory ? 'oom' : status);
  });
  await session.send('Target.setDiscoverTargets', { discover: true, filter: [{ type: 'page' }] });
}

async function end(pooled: PooledBrowser): Promise<void> {
  pooled.isEnding = true;
  const { browser, process } = pooled;
  await browser.close().catch(() => undefined);
  process.kill();
  await process.exited;
}

/** Whether work is over within the given time. */
async function isOver(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ms).unref();
  });
  const over = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return over;
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
