import { randomUUID } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Sessions, type Environment, type Reply, type Task } from '@ui-rl/plugin-kit';
import { descendants, Player, value, type ProcessInfo } from '@ui-rl/testkit';
import { chromium } from 'playwright';
import type { BrowserTab } from '../src/browser-tab';
import { findBrowser } from '../src/find-browser';
import browser from '../src/index';
import { BrowserOptions } from '../src/options';
import { STORAGE_STATES } from '../src/storage-state';

/** The default browser. */
export function browserPath(): string {
  return findBrowser(undefined, chromium.executablePath());
}

/** A program that runs some shell lines and then executes the browser. Accessible to any user. */
export function programOf(folder: string, shell: string): string {
  const program = join(folder, `chromium-${randomUUID()}`);
  writeFileSync(program, `#!/bin/sh\nOWNER=${process.getuid?.()}\n${shell}\nexec ${browserPath()} "$@"\n`);
  chmodSync(program, 0o755);
  chmodSync(folder, 0o755);
  return program;
}

/**
 * A browser whose kernel refuses user namespaces, as in a chroot, or in a container with the default seccomp filter.
 */
export function withoutNamespaces(folder: string): string {
  const refuse =
    'echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --ambient-caps -all --inh-caps -all "$@"';
  return programOf(
    folder,
    `exec unshare --user --map-current-user --keep-caps sh -c '${refuse}' - ${browserPath()} "$@"`,
  );
}

export const VIEWPORT = { width: 160, height: 224 };

/** Session options, and fields of its task. */
interface Opening extends Partial<Task> {
  seed?: number;
  owner?: string;
  leaseMs?: number;
  deadlineMs?: number;
}

export { Player, value };

/** Time limit of a step. */
const STEP_MS = 10_000;

/** A browser environment with sessions and a folder of plugin pages. */
export class Lab {
  readonly folder = mkdtempSync(join(tmpdir(), 'pages-'));
  readonly pages: Record<string, string> = {};
  readonly log: string[] = [];
  /** Configured program paths, as for a service. */
  readonly programs: Record<string, string> = {};
  storageStates: string | undefined;
  /** Time limit for reading the final state. */
  closeDeadlineMs = 6_000;
  /** Additional environment variables. */
  readonly variables: Record<string, string> = {};
  environment: Environment;
  sessions: Sessions;

  async start(options: Partial<BrowserOptions> = {}, maxSessions = 8): Promise<this> {
    const log = (level: string, message: string) => void this.log.push(`${level} ${message}`);
    this.environment = await browser.create(Object.assign(new BrowserOptions(), options), {
      pages: this.pages,
      maxSessions,
      programs: this.programs,
      variables: {
        ...this.variables,
        ...(this.storageStates === undefined ? {} : { [STORAGE_STATES]: this.storageStates }),
      },
      log,
    });
    this.sessions = new Sessions(this.environment, {
      maxSessions,
      log,
      closeDeadlineMs: this.closeDeadlineMs,
    });
    return this;
  }

  async stop(): Promise<void> {
    await this.sessions?.close();
    rmSync(this.folder, { recursive: true });
  }

  /** Profiles of idle tabs. */
  kept(): string[] {
    return this.idleTabs().map(({ contextId }) => contextId);
  }

  idleTabs(): BrowserTab[] {
    const { idle } = this.environment as unknown as { idle: { tab: BrowserTab }[] };
    return idle.map(({ tab }) => tab);
  }

  /** Creates a plugin page from HTML, with optional further files. */
  page(name: string, html: string, files: Record<string, string> = {}): void {
    this.pages[name] = join(this.folder, name);
    for (const [path, text] of Object.entries({ 'index.html': `<!doctype html>${html}`, ...files })) {
      mkdirSync(dirname(join(this.pages[name], path)), { recursive: true });
      writeFileSync(join(this.pages[name], path), text);
    }
  }

  async open(
    options: Record<string, unknown>,
    { seed = 1, owner, leaseMs = 60_000, deadlineMs = 20_000, ...fields }: Opening = {},
  ): Promise<Player> {
    const task: Task = {
      description: 'test',
      ...fields,
      environment: { kind: 'browser', options: { viewport: VIEWPORT, ...options } },
    };
    const { sessionId, screenshot } = value(
      await this.sessions.open({
        task,
        seed,
        leaseMs,
        deadlineMs,
        owner,
      }),
    );
    return new Player(this.sessions, sessionId, screenshot, STEP_MS);
  }
}

export function codeOf(reply: Reply<unknown>): string {
  return reply.ok ? 'ok' : reply.error.code;
}

/** An HTTP server on a free port that records its requests. */
export class WebServer {
  readonly asked: string[] = [];
  private readonly server = createServer((request, response) => {
    this.asked.push(request.url ?? '');
    this.answer(request, response);
  });

  private constructor(
    private readonly answer: (request: IncomingMessage, response: ServerResponse) => void,
  ) {}

  static async start(
    answer: (request: IncomingMessage, response: ServerResponse) => void,
  ): Promise<WebServer> {
    const web = new WebServer(answer);
    web.server.on('upgrade', (request, socket) => {
      web.asked.push(`upgrade ${request.url}`);
      socket.destroy();
    });
    await new Promise<void>((resolve) => web.server.listen(0, '127.0.0.1', resolve));
    return web;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** The main processes of the browsers that this process started. */
export function browsers(): ProcessInfo[] {
  return descendants(process.pid).filter(
    ({ command }) => command.includes('--remote-debugging-pipe') && !command.includes('--type='),
  );
}

/** The home folder of the first browser. */
export function homeOfBrowser(): string {
  const environment = readFileSync(`/proc/${browsers()[0].pid}/environ`, 'utf8');
  return /(?:^|\0)HOME=([^\0]+)/.exec(environment)![1];
}

export async function until(condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!condition()) {
    if (Date.now() > end)
      throw new Error(`it did not happen within ${timeoutMs} ms: ${condition.toString()}`);
    await sleep(20);
  }
}
