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

interface Lock {
  packages: Record<string, { integrity?: string; resolved?: string; link?: boolean }>;
}

it.each(['package-lock.json', 'deploy/local/postgres/package-lock.json'])(
  'every package of %s is compared with a digest, for every platform',
  (file) => {
    const { packages } = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as Lock;
    const installed = Object.entries(packages).filter(([path]) => path !== '');
    expect(installed.length).toBeGreaterThan(3);
    const unchecked = installed.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''));
    expect(unchecked.map(([path]) => path)).toEqual([]);
    const elsewhere = installed.filter(
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

  const write = (name: string, manifest: object) =>
    writeFileSync(join(folder, name, 'package.json'), JSON.stringify(manifest));
  const npm = (cwd: string, ...args: string[]) =>
    execFileSync('npm', [...args, '--offline', '--no-audit', '--no-fund'], { cwd, stdio: 'pipe' });

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
