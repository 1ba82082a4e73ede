import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import {
  FakeHub,
  findChromium,
  findNatsServer,
  freePort,
  softwareVulkan,
  startPostgres,
  type PostgresServer,
} from '@ui-rl/testkit';
import sharp from 'sharp';
import { examples, fileName, root } from './examples';
import type { Run } from './rules';
import { Typed } from './terminal';

/** Parts of a clone that commands of the docs write to, or do not need. */
const LEFT_OUT = new Set(['.git', 'runs', 'coverage', 'node_modules', 'package.json']);
const SMALL_MODEL = join(root, 'deploy/local/model');
/** Models of the docs: the fake hub serves the small model under these names. */
const HUB_MODELS = ['HuggingFaceTB/SmolVLM-256M-Instruct', 'Qwen/Qwen3-VL-2B-Instruct'];

/**
 * The place where a reader types the commands: a folder that looks like the clone, with the files that the guides
 * create, a database and a model hub.
 */
export class Sandbox {
  private readonly typed: Typed[] = [];
  /** Placeholders in the docs → values here. */
  private readonly places: Map<string, string>;

  private constructor(
    private readonly folder: string,
    private readonly hub: FakeHub,
    private readonly postgres: PostgresServer,
  ) {
    this.places = new Map([
      ['postgresql://uirl:secret@db.example:5432/uirl', postgres.url],
      ['/var/lib/nats', '$STORE'],
      ['checkpoints/000066', 'checkpoints/000001'],
    ]);
  }

  static async start(): Promise<Sandbox> {
    // Programs of the clone report their paths without symbolic links.
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'uirl-typed-')));
    const [hub, postgres] = await Promise.all([FakeHub.start(), startPostgres(), writeFiles(folder)]);
    const names = readdirSync(SMALL_MODEL).filter((name) => name !== 'README.md');
    const files = Object.fromEntries(names.map((name) => [name, readFileSync(join(SMALL_MODEL, name))]));
    for (const id of HUB_MODELS) hub.put(id, { files });
    return new Sandbox(folder, hub, postgres);
  }

  /**
   * Types a line after others that change the environment. Resolves when it has ended, or, for a command that keeps
   * running, when it reports that it is ready.
   */
  async type(line: string, before: readonly string[], rule: Run): Promise<Typed> {
    const command = rule.append === undefined ? line : `${line} ${rule.append}`;
    const script = [...before, command].map((each) => this.placed(each)).join('\n');
    const typed = new Typed(script, this.folder, await this.environment(rule));
    this.typed.push(typed);
    await typed.settles(rule.staysAfter ?? rule.goesOnAfter);
    for (const [place, pattern] of Object.entries(rule.tells ?? {})) {
      const [, told] = pattern.exec(typed.output) ?? [];
      if (told !== undefined) this.places.set(place, told);
    }
    return typed;
  }

  /** Sends Ctrl-C to all running commands, and cleans up. */
  async stop(): Promise<void> {
    await Promise.all(this.typed.map((typed) => typed.interrupt()));
    await Promise.all([this.hub.stop(), this.postgres.stop()]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private placed(line: string): string {
    return [...this.places].reduce((text, [place, here]) => text.replaceAll(place, here), line);
  }

  private async environment({ apart = false }: Run): Promise<Record<string, string>> {
    const port = await freePort();
    const programs = [join(this.folder, 'bin/npx'), process.execPath, findNatsServer()].map((path) =>
      dirname(path),
    );
    return {
      ...softwareVulkan(join(this.folder, 'xdg')),
      PATH: [...programs, process.env.PATH].join(delimiter),
      HOME: join(this.folder, 'home'),
      npm_config_update_notifier: 'false',
      CHROMIUM_BIN: findChromium(),
      NATS_SERVER_BIN: findNatsServer(),
      HF_ENDPOINT: this.hub.endpoint,
      SECRET: 'of-the-lab',
      FREE_PORT: String(port),
      STORE: join(this.folder, `nats-${port}`),
      ...(apart ? { UIRL_RUNS_DIR: join(this.folder, `runs-${port}`) } : {}),
    };
  }
}

async function writeFiles(folder: string): Promise<void> {
  linkAll(root, folder, (name) => !LEFT_OUT.has(name));
  linkModules(join(folder, 'node_modules'));
  for (const name of ['home', 'counter', 'groceries']) mkdirSync(join(folder, name));
  mkdirSync(join(folder, 'xdg'), { mode: 0o700 });
  writeNpx(join(folder, 'bin'));
  const [counter, groceries] = examples('html');
  writeFileSync(join(folder, 'counter/index.html'), counter.text);
  writeFileSync(join(folder, 'groceries/index.html'), groceries.text);
  for (const file of examples('js')) writeFileSync(join(folder, fileName(file)), file.text);
  const first = examples('yaml').find((each) => each.page === 'docs/guides/first-run.md');
  writeFileSync(join(folder, 'my-run.yaml'), first!.text);
  symlinkSync(SMALL_MODEL, join(folder, 'DIR'));
  const screen = sharp({ create: { width: 160, height: 224, channels: 3, background: '#dde' } });
  await screen.png().toFile(join(folder, 'screen.png'));
  const content = [
    { type: 'image', path: 'screen.png' },
    { type: 'text', text: 'Turn on Wi-Fi' },
  ];
  const messages = [{ role: 'user', content }];
  writeFileSync(join(folder, 'conversation.json'), JSON.stringify({ messages }));
}

/** A substitute for npx with installed packages; npm's own takes more than a second of CPU time. */
function writeNpx(folder: string): void {
  mkdirSync(folder);
  writeFileSync(join(folder, 'npx'), '#!/bin/sh\nexec "node_modules/.bin/$@"\n', { mode: 0o755 });
}

/** Links packages, including the command itself. */
function linkModules(folder: string): void {
  const { bin: _bin, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: object;
  };
  writeFileSync(join(folder, '../package.json'), JSON.stringify(manifest));
  mkdirSync(join(folder, '.bin'), { recursive: true });
  linkAll(join(root, 'node_modules'), folder, (name) => name !== '.bin');
  linkAll(join(root, 'node_modules/.bin'), join(folder, '.bin'), (name) => name !== 'ui-rl');
  symlinkSync(join(root, 'services/cli/bin/ui-rl.mjs'), join(folder, '.bin/ui-rl'));
}

function linkAll(from: string, to: string, isWanted: (name: string) => boolean): void {
  for (const name of readdirSync(from).filter(isWanted)) symlinkSync(join(from, name), join(to, name));
}
