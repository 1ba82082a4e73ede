import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../..');

interface Locked {
  integrity?: string;
  resolved?: string;
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
}

it.each(['package-lock.json', 'deploy/local/postgres/package-lock.json'])(
  'every package of %s is compared with a digest, but for tools of developers on other platforms',
  (file) => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as {
      packages: Record<string, Locked>;
    };
    const locked = Object.entries(packages).filter(([path]) => path !== '');
    expect(locked.length).toBeGreaterThan(3);
    const unchecked = locked.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''));
    const grave = unchecked.filter(
      ([path, { dev, optional }]) => existsSync(join(ROOT, path)) || dev !== true || optional !== true,
    );
    expect(grave).toEqual([]);
    const elsewhere = locked.filter(
      ([, { resolved, link }]) => link === true || resolved?.startsWith('http:'),
    );
    expect(elsewhere).toEqual([]);
  },
);

describe('a package that wants to run something when it is installed', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'uirl-supply-'));
    for (const name of ['greedy', 'app']) mkdirSync(join(folder, name));
    const install = `node -e "require('fs').writeFileSync('${join(folder, 'ran')}', '')"`;
    write('greedy', { name: 'greedy', version: '1.0.0', scripts: { install } });
    write('app', { name: 'app', private: true, dependencies: { greedy: 'file:../greedy-1.0.0.tgz' } });
    npm(folder, 'pack', './greedy');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  // npm sets its configuration as variables of child processes, such as this test.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  const write = (name: string, manifest: object) =>
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify(manifest));
  const npm = (cwd: string, ...args: string[]) =>
    execFileSync('npm', [...args, '--offline', '--no-audit', '--no-fund'], { cwd, env, stdio: 'pipe' });

  it('does not, here', () => {
    const app = join(folder, 'app');
    copyFileSync(join(ROOT, '.npmrc'), join(app, '.npmrc'));
    npm(app, 'install');
    expect(existsSync(join(app, 'node_modules/greedy'))).toBe(true);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    rmSync(join(app, '.npmrc'));
    npm(app, 'rebuild');
    expect(existsSync(join(folder, 'ran'))).toBe(true);
  });
});
