import type { Browser, BrowserContext, BrowserContextOptions, BrowserType } from 'playwright';
import { DEADLINES } from '@ui-rl/plugin-kit';
import { BrowserError } from './errors';

const ARGS = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
  '--disable-smooth-scrolling',
  // WebRTC would go past the proxy that closes the network.
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
];

/** How a browser is launched. */
export interface LaunchOptions {
  executablePath: string;
  /** Origins without TLS that count as secure: only secure pages may ask for hosts of the local network. */
  trustedOrigins: readonly string[];
}

type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;

interface PooledBrowser {
  browser: Browser;
  contexts: number;
}

export interface Lease {
  context: BrowserContext;
  /** Closes the context and frees its slot. Never throws. */
  release(): Promise<void>;
}

/** The browser processes: started when they are needed, several contexts in each, replaced when they die. */
export class BrowserPool {
  private browsers: PooledBrowser[] = [];
  private starting: Promise<PooledBrowser> | null = null;
  private closed = false;

  constructor(
    private readonly chromium: BrowserType,
    private readonly launchOptions: LaunchOptions,
    private readonly contextsPerBrowser: number,
    private readonly log: Log,
  ) {}

  /** Starts a browser, so that a missing or broken one is found out early. Throws `BrowserError`. */
  async start(): Promise<void> {
    await this.launched();
  }

  /** A fresh context with a profile of its own. Throws `BrowserError` where no browser starts. */
  async lease(options: BrowserContextOptions): Promise<Lease> {
    const pooled = await this.acquire();
    try {
      const context = await pooled.browser.newContext(options);
      return { context, release: () => this.release(pooled, context) };
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
    const browsers = this.browsers.splice(0);
    await Promise.all(browsers.map(({ browser }) => browser.close().catch(() => undefined)));
  }

  /** A browser with a free slot; the slot is taken before anyone else can take it. */
  private async acquire(): Promise<PooledBrowser> {
    for (;;) {
      const free = this.browsers.find(
        ({ browser, contexts }) => browser.isConnected() && contexts < this.contextsPerBrowser,
      );
      if (free !== undefined) {
        free.contexts++;
        return free;
      }
      await this.launched();
    }
  }

  /** One launch at a time; those who wait share it. */
  private async launched(): Promise<PooledBrowser> {
    if (this.closed) throw new BrowserError('crashed', 'the environment is being stopped');
    this.starting ??= this.launch().finally(() => {
      this.starting = null;
    });
    return this.starting;
  }

  private async launch(): Promise<PooledBrowser> {
    const pooled: PooledBrowser = { browser: await this.launchBrowser(), contexts: 0 };
    this.browsers.push(pooled);
    pooled.browser.on('disconnected', () => {
      if (!this.browsers.includes(pooled)) return;
      this.browsers = this.browsers.filter((other) => other !== pooled);
      this.log('warn', `a browser died with ${pooled.contexts} pages; the next page starts another one`);
    });
    return pooled;
  }

  private async launchBrowser(): Promise<Browser> {
    const isRoot = process.getuid?.() === 0;
    try {
      return await this.launchWith(!isRoot);
    } catch (cause) {
      const message = messageOf(cause);
      if (!isRoot && /sandbox/i.test(message)) {
        this.log('warn', 'Chromium has no usable sandbox here and runs without; its network stays closed');
        return this.launchWith(false);
      }
      throw new BrowserError(
        'no_browser',
        `${this.launchOptions.executablePath} does not start: ${message}`,
        { cause },
      );
    }
  }

  private async launchWith(chromiumSandbox: boolean): Promise<Browser> {
    const { executablePath, trustedOrigins } = this.launchOptions;
    return this.chromium.launch({
      executablePath,
      chromiumSandbox,
      args: [...ARGS, `--unsafely-treat-insecure-origin-as-secure=${trustedOrigins.join(',')}`],
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
  }

  private async release(pooled: PooledBrowser, context: BrowserContext): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), DEADLINES.browserClose.ms);
    });
    const closing = context.close().then(
      () => true,
      () => true,
    );
    const closed = await Promise.race([closing, late]);
    clearTimeout(timer);
    pooled.contexts--;
    if (closed && (pooled.contexts > 0 || this.browsers.length <= 1)) return;
    await this.retire(pooled, closed);
  }

  private async retire(pooled: PooledBrowser, idle: boolean): Promise<void> {
    if (!this.browsers.includes(pooled)) return;
    this.browsers = this.browsers.filter((other) => other !== pooled);
    if (!idle) this.log('warn', 'a page could not be closed, so that its browser is ended');
    await pooled.browser.close().catch(() => undefined);
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
