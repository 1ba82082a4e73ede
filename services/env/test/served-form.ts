import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { loadComponents, Sessions, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { WebSocket } from 'ws';
import { RunEnvironments } from '../src/run-environments';
import { ServedEpisodes } from '../src/serve/episodes';
import { serveEnvironments, type ServedEnvironments } from '../src/serve/server';
import { ServedWorld } from '../src/serve/world';

Logger.overrideLogger(false);

/** A form: the left half of the screen submits the row of the seed, the right half a wrong one. */
const PAGE = `<!doctype html><body style="margin:0;height:100vh"><script>
let rows = [], wrong = 0, seed = 0, text = '';
const draw = () => { document.body.style.background = 'rgb(' + [seed % 200, rows.length * 40, wrong * 40] + ')'; };
document.addEventListener('mousedown', ({ clientX }) => {
  if (clientX < innerWidth / 2) rows.push(seed % 10); else wrong += 1;
  draw();
});
document.addEventListener('keydown', ({ key }) => { text += key; });
window.uirl = {
  reset({ seed: given }) { [rows, wrong, seed, text] = [[], 0, given, '']; draw(); },
  state() { return { submitted_row_indices: rows, num_incorrect_submissions: wrong, text }; },
};
</script>`;

const SOURCE = `module.exports.default = {
  kind: 'task-source', name: 'form', pages: { form: require('node:path').join(__dirname, 'form') },
  create: () => ({
    load: () => ['first', 'second'].map((id) => ({
      id, description: 'Submit once: ' + id, maxSteps: 4,
      environment: { kind: 'browser', options: { page: 'form', viewport: { width: 64, height: 48 } } },
      checks: [{ path: 'submitted_row_indices', operator: 'contains', value: 3 }],
    })),
  }),
};`;

/** JSON whose form the test knows. */
export interface Told {
  [key: string]: Told;
}
export const namesOf = (tools: Told) => (tools as unknown as { name: string }[]).map(({ name }) => name);

export const LEFT = { action: 'click', x: 10, y: 10 };
export const RIGHT = { action: 'click', x: 50, y: 10 };

export const limits = { host: '127.0.0.1', port: 0, keys: [], maxRequests: 16, maxBodyBytes: 2 ** 20 };

/** An env service's endpoint with the form as the only page and three sessions, and its clients. */
export class ServedForm {
  private constructor(
    readonly folder: string,
    readonly components: ComponentRegistry,
    readonly environments: RunEnvironments,
    readonly episodes: ServedEpisodes,
    readonly server: ServedEnvironments,
  ) {}

  static async open(): Promise<ServedForm> {
    const folder = mkdtempSync(join(tmpdir(), 'env-serve-'));
    mkdirSync(join(folder, 'form'));
    writeFileSync(join(folder, 'form', 'index.html'), PAGE);
    writeFileSync(join(folder, 'source.js'), SOURCE);
    const components = await loadComponents({ service: 'env', packages: ['./source.js'], from: folder });
    const environments = environmentsOf(components, folder);
    const file = runFileIn(folder, 'run.yaml', { max_sessions: 3 });
    const episodes = new ServedEpisodes(await ServedWorld.open(file, components, environments));
    const server = await serveEnvironments(episodes, { ...limits, mode: 'simulation' });
    return new ServedForm(folder, components, environments, episodes, server);
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.episodes.close();
    rmSync(this.folder, { recursive: true });
  }

  /** Other environments of the same kind, for a separate server. */
  otherEnvironments(): RunEnvironments {
    return environmentsOf(this.components, this.folder);
  }

  runFile(name: string, environment: object): string {
    return runFileIn(this.folder, name, environment);
  }

  /** One of the project's own clients, with the options of a run file. */
  async client(choice: { name: string; [option: string]: unknown }): Promise<Sessions> {
    const log = () => {};
    const context = { pages: {}, maxSessions: 4, programs: {}, log };
    const made = await this.components.create('environment', choice, context);
    return new Sessions(made, { maxSessions: 4 });
  }

  async ask(path: string, init?: RequestInit & { base?: string }) {
    const response = await fetch((init?.base ?? this.server.url) + path, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true;
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Told };
  }

  post(path: string, body: unknown) {
    return this.ask(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
  }

  /** A socket that sends raw texts. */
  async socket(path: string, base = this.server.url) {
    const ws = new WebSocket(base.replace('http', 'ws') + path);
    const inbox: Told[] = [];
    ws.on('message', (data: Buffer) => inbox.push(JSON.parse(data.toString()) as Told));
    const closed = new Promise<number>((resolve) => ws.on('close', resolve));
    await new Promise((resolve, reject) => ws.on('open', resolve).on('error', reject));
    const next = () => eventually('a message', () => inbox.shift(), 10_000, 5);
    const send = (message: unknown) => {
      ws.send(typeof message === 'string' ? message : JSON.stringify(message));
      return next();
    };
    return { ws, send, next, closed, leave: () => (ws.close(), closed) };
  }

  sessionCount(): number {
    return this.environments.of('(served)', 'browser')!.size;
  }

  /** Waits until no episode is in progress. */
  async isLeft(): Promise<void> {
    await eventually('the end of the sessions', () => this.sessionCount() === 0);
  }

  /** Over HTTP, a client cannot announce that it leaves. */
  async leaveHttp(): Promise<void> {
    const others = [...this.episodes.ids()].filter((id) => id.startsWith('http/'));
    for (const id of ['(http)', ...others]) await this.episodes.end(id);
  }
}

function environmentsOf(components: ComponentRegistry, cacheDir: string): RunEnvironments {
  return new RunEnvironments({ environments: [], components, programs: {}, cacheDir });
}

function runFileIn(folder: string, name: string, environment: object): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ tasks: { source_type: 'form' }, environment }));
  return file;
}
