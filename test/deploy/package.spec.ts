import { execFile, type ExecFileOptions } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { essentials, findChromium, findNatsServer } from '@ui-rl/testkit';

const ROOT = resolve(__dirname, '../..');
const MEBIBYTE = 2 ** 20;
/** Modules referenced by compiled code: `require("…")`, `import("…")`. */
const NAMED = /\b(?:require|import)\((["'])([^"'./][^"']*)\1\)/g;

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
interface Packed {
  filename: string;
  size: number;
  files: { path: string }[];
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest;

/**
 * Packages that npm installs for a dependent of our package: from the lock file, without development dependencies.
 */
function productionPackages(): string[] {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  return Object.entries(packages)
    .filter(([path, { dev }]) => /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && dev !== true)
    .map(([path]) => path)
    .filter((path) => existsSync(join(ROOT, path)));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('the package of npm pack', () => {
  /** Folder of a user who has installed the package, outside of the clone. */
  let app: string;
  let installed: string;
  let packed: Packed;

  const run = (command: string, args: string[], options: ExecFileOptions = {}) =>
    promisify(execFile)(command, args, { encoding: 'utf8', timeout: 120_000, ...options }) as Promise<{
      stdout: string;
      stderr: string;
    }>;
  /** Packages are symlinks, and resolved from the links' location, where development dependencies are missing. */
  const environment = () => ({
    ...essentials(),
    HOME: app,
    XDG_DATA_HOME: join(app, 'data'),
    NODE_OPTIONS: '--preserve-symlinks',
    NATS_SERVER_BIN: findNatsServer(),
    CHROMIUM_BIN: findChromium(),
  });
  const cli = (...args: string[]) =>
    run(join(app, 'node_modules/.bin/ui-rl'), args, { cwd: app, env: environment() });

  beforeAll(async () => {
    app = realpathSync(mkdtempSync(join(tmpdir(), 'uirl-package-')));
    installed = join(app, 'node_modules/ui-rl');
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', app], {
      cwd: ROOT,
      // Without the variables that npm sets for its child processes, such as this test.
      env: essentials(),
    });
    [packed] = JSON.parse(stdout) as Packed[];
    mkdirSync(join(app, 'node_modules/.bin'), { recursive: true });
    mkdirSync(installed);
    await run('tar', ['-xzf', join(app, packed.filename), '--strip-components=1', '-C', installed]);
    for (const path of productionPackages()) {
      mkdirSync(dirname(join(app, path)), { recursive: true });
      symlinkSync(join(ROOT, path), join(app, path));
    }
    symlinkSync('../ui-rl/services/cli/bin/ui-rl.mjs', join(app, 'node_modules/.bin/ui-rl'));
  }, 120_000);

  afterAll(() => rmSync(app, { recursive: true, force: true }));

  it('holds what is run, and neither sources nor tests', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'LICENSE',
        'README.md',
        'deploy/config/quickstart.yaml',
        'deploy/local/model/model.safetensors',
        'deploy/local/tools.mjs',
        'deploy/local/miniwob.mjs',
        'deploy/local/fetch-wheel.mjs',
        'deploy/local/unzip.mjs',
        'dist/libs/api/src/index.d.ts',
        'dist/monitor-web/index.html',
        'dist/plugin-templates/javascript/reward/src/index.js',
        'dist/plugin-templates/typescript/reward/src/index.ts',
        'dist/services/learner/src/main.js',
        'services/cli/bin/ui-rl.mjs',
      ]),
    );
    const needless = paths.filter(
      (path) =>
        /(^|\/)(test|node_modules|testkit)\/|\.spec\.|\.map$|(^|\/)\./.test(path) ||
        (path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.startsWith('dist/plugin-templates/')),
    );
    expect(needless).toEqual([]);
    expect(packed.size).toBeLessThan(20 * MEBIBYTE);
  });

  it('holds every page that a plugin shows', () => {
    const plugins = readdirSync(join(ROOT, 'plugins')).filter((name) =>
      statSync(join(ROOT, 'plugins', name)).isDirectory(),
    );
    const pages = plugins
      .flatMap((name) =>
        readdirSync(join(ROOT, 'plugins', name)).map((folder) => `plugins/${name}/${folder}`),
      )
      .filter((path) => !/\/(src|test|examples|[^/]+\.md)$/.test(path));
    expect(pages.length).toBeGreaterThan(2);
    for (const page of pages) {
      const files = filesBelow(join(ROOT, page)).map((file) => file.slice(ROOT.length));
      expect(files.filter((file) => !existsSync(join(installed, file)))).toEqual([]);
    }
  });

  it('names no module but those of Node and of the packages that it depends on', () => {
    const compiled = ['libs', 'plugins', 'services'].flatMap((name) =>
      filesBelow(join(installed, 'dist', name)),
    );
    const named = compiled
      // Templates contain code for other projects.
      .filter((file) => file.endsWith('.js') && !file.includes('/libs/api/src/plugins/'))
      .flatMap((file) => [...readFileSync(file, 'utf8').matchAll(NAMED)].map(([, , name]) => name))
      .filter((name) => !name.startsWith('node:') && !builtinModules.includes(name))
      .map((name) => /^(@[^/]+\/)?[^/]+/.exec(name)![0]);
    expect(named).toContain('playwright');
    expect([...new Set(named)].filter((name) => manifest.dependencies[name] === undefined)).toEqual([]);
  });

  it('finds what it depends on, and no package of developers', async () => {
    const isInstalled = (name: string) => existsSync(join(app, 'node_modules', name));
    expect(Object.keys(manifest.dependencies).filter((name) => !isInstalled(name))).toEqual([]);
    const others = Object.keys(manifest.devDependencies).filter((name) => !isInstalled(name));
    expect(others).toEqual(expect.arrayContaining(['typescript', 'jest', '@swc/core', 'rolldown', 'vite']));
    const program = `
      const { resolve } = require('node:module').createRequire(${JSON.stringify(join(installed, 'package.json'))});
      const found = (name) => { try { return resolve(name + '/package.json'); } catch (error) { return error.code; } };
      console.log(JSON.stringify(process.argv.slice(1).map(found)));`;
    const { stdout } = await run(process.execPath, ['-e', program, 'playwright', ...others], {
      env: environment(),
    });
    const [playwright, ...rest] = JSON.parse(stdout) as string[];
    expect(playwright).toBe(join(app, 'node_modules/playwright/package.json'));
    expect(new Set(rest)).toEqual(new Set(['MODULE_NOT_FOUND']));
  });

  it('says what there is, and what is to be done, from any folder', async () => {
    const [help, setup, doctor] = await Promise.all([cli('--help'), cli('setup', '--json'), cli('doctor')]);
    expect(help.stdout).toMatch(/^ {2}quickstart /m);
    expect(JSON.parse(setup.stdout)).toEqual({ natsServer: findNatsServer(), chromium: findChromium() });
    expect(doctor.stdout).toMatch(/^ok +broker +nats-server \d/m);
    expect(doctor.stdout).toContain(`small: ${join(installed, 'deploy/local/model')}`);
    expect(doctor.stdout).toMatch(/browser opened/);
  }, 120_000);

  it('trains, and writes nothing into its own folder', async () => {
    const before = filesBelow(installed);
    const tasks = JSON.stringify({ source_type: 'demo_training', limit: 1 });
    const { stdout } = await cli(
      'quickstart',
      ...['--tasks', tasks, '--eval_tasks', '[]'],
      ...['--rollout.group_size', '2', '--rollout.max_turns', '1'],
      ...['--training.groups_per_batch', '1', '--training.num_substeps', '1', '--training.max_steps', '1'],
      ...['--evaluation.episodes_per_task', '1'],
    );
    expect(stdout).toMatch(/ 1 training steps in /);
    expect(stdout).toMatch(/invalid episodes 0\.00 %/);
    expect(filesBelow(installed)).toEqual(before);
    expect(readdirSync(join(app, 'data/ui-rl/runs'))).toContain('monitor-db');
  }, 180_000);
});
