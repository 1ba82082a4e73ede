import type { Browser, BrowserType } from 'playwright';
import { ChromiumProcess } from './chromium-process';
import { BrowserError } from './errors';
import { pageText } from './page-text';

/** How a browser is launched. */
export interface LaunchOptions {
  executablePath: string;
  sandbox: 'on' | 'off';
  /** Origins without TLS that are treated as secure. */
  trustedOrigins: readonly string[];
  /** Memory limit of a browser with all its pages. */
  memoryBytes: number;
  pagesPerBrowser: number;
}

export interface LaunchedBrowser {
  browser: Browser;
  process: ChromiumProcess;
}

type Log = (level: 'debug' | 'info' | 'warn' | 'error', message: string) => void;

/** The user the browser runs as, and whether its pages are sandboxed. */
interface Confinement {
  /** Runs as a user id without an account, which requires root. */
  asStranger: boolean;
  sandbox: boolean;
}

/** User ids without accounts: systemd's range for dynamic service users. Each browser gets a different one. */
const FIRST_USER = 61_184;
const USERS = 4_336;
/** Allowance of a single process above the limit, for reserved virtual memory that is never touched. */
const UNTOUCHED_BYTES = 2 * 2 ** 30;
const OUTPUT_SHOWN = 400;
const OR_NAMESPACES =
  'or allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu)';
/** Reasons by what Chromium says. */
const SANDBOX_REASONS: readonly (readonly [said: string, reason: string])[] = [
  [
    'No usable sandbox',
    `it finds no sandbox: install the one of its package (sudo apt-get install chromium-sandbox), ${OR_NAMESPACES}`,
  ],
  [
    'SUID sandbox helper binary was found, but is not configured correctly',
    `it cannot use its sandbox helper, which must belong to root and have mode 4755 (sudo apt-get install --reinstall chromium-sandbox): correct that outside of containers, ${OR_NAMESPACES}`,
  ],
];

/**
 * Launches browsers with the strongest confinement available on this machine, which the first launch determines by
 * trying: Chromium refuses to start without a sandbox, and root cannot have one, so root runs it as another user.
 */
export class Launcher {
  private confinement: Confinement | null = null;
  private launched = 0;

  constructor(
    private readonly chromium: BrowserType,
    private readonly options: LaunchOptions,
    private readonly log: Log,
  ) {}

  /** Whether pages are sandboxed. Known after the first launch. */
  get isSandboxed(): boolean {
    return this.confinement?.sandbox ?? false;
  }

  /** Throws `BrowserError` if the browser does not start. */
  async launch(): Promise<LaunchedBrowser> {
    if (this.confinement !== null) return this.launchAs(this.confinement);
    const failures: string[] = [];
    for (const confinement of this.candidates()) {
      try {
        const launched = await this.launchAs(confinement);
        this.confinement = confinement;
        if (!confinement.sandbox) this.tellOf(failures);
        return launched;
      } catch (error) {
        if (!(error instanceof BrowserError)) throw error;
        failures.push(error.message);
      }
    }
    throw new BrowserError('no_browser', failures.at(-1) ?? 'there is no way to start a browser');
  }

  private candidates(): Confinement[] {
    const isRoot = process.getuid?.() === 0;
    const bare = (isRoot ? [true, false] : [false]).map((asStranger) => ({ asStranger, sandbox: false }));
    return this.options.sandbox === 'off' ? bare : [{ asStranger: isRoot, sandbox: true }, ...bare];
  }

  private nextUser(): number {
    return FIRST_USER + ((process.pid * 8 + this.launched++) % USERS);
  }

  private async launchAs(confinement: Confinement): Promise<LaunchedBrowser> {
    const started = this.start(confinement);
    try {
      const browser = await this.chromium.connectOverCDP(started.pipe, {
        artifactsDir: started.home,
        noDefaults: true,
      });
      return { browser, process: started };
    } catch (cause) {
      started.kill();
      await started.exited;
      throw this.doesNotStart(pageText(started.output, Infinity), cause);
    }
  }

  private start({ asStranger, sandbox }: Confinement): ChromiumProcess {
    const { executablePath, trustedOrigins, memoryBytes, pagesPerBrowser } = this.options;
    try {
      return ChromiumProcess.start({
        executablePath,
        trustedOrigins,
        sandbox,
        user: asStranger ? this.nextUser() : null,
        processBytes: memoryBytes + UNTOUCHED_BYTES,
        heapBytes: memoryBytes / pagesPerBrowser,
      });
    } catch (cause) {
      throw this.doesNotStart('', cause);
    }
  }

  private doesNotStart(said: string, cause: unknown): BrowserError {
    const reason = said === '' ? String(cause) : reasonIn(said);
    return new BrowserError('no_browser', `${this.options.executablePath} does not start: ${reason}`, {
      cause,
    });
  }

  private tellOf(failures: readonly string[]): void {
    const consequence =
      this.options.sandbox === 'off'
        ? 'as environment.kind.sandbox says: pages can attack this machine through faults of the browser'
        : `only pages from local folders are shown. ${failures[0]}`;
    this.log('warn', `Chromium runs without its sandbox; ${consequence}`);
  }
}

function reasonIn(said: string): string {
  const known = SANDBOX_REASONS.find(([text]) => said.includes(text));
  if (known !== undefined) return known[1];
  return said.length <= OUTPUT_SHOWN ? said : `… ${said.slice(-OUTPUT_SHOWN)}`;
}
