import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ASSET_PACKAGES } from '../src/look/assets';
import { KITS } from '../src/look/kits';
import { LICENSES_FILE, licenseTable } from './licenses';

it('records the licence of every package that pages are drawn with', () => {
  expect(readFileSync(LICENSES_FILE, 'utf8')).toBe(licenseTable());
});

it('draws with packages that may be used freely', () => {
  const licenses = [...licenseTable().matchAll(/^\| [^ ]+ \| \d[^ ]* \| (.+) \|$/gm)].map(
    ([, license]) => license,
  );
  expect(licenses.length).toBe(ASSET_PACKAGES.length);
  expect(
    licenses.filter((license) => !['MIT', 'ISC', 'OFL-1.1', 'BSD-3-Clause', 'Apache-2.0'].includes(license)),
  ).toEqual([]);
});

it('names every package among the development dependencies, with its version', () => {
  const manifest = JSON.parse(readFileSync(join(__dirname, '../../../package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };
  const wanted = new Set([...ASSET_PACKAGES, ...KITS.map(({ name }) => name)]);
  for (const name of wanted) {
    expect(manifest.devDependencies[name]).toMatch(/^\d/);
    expect(manifest.dependencies[name]).toBeUndefined();
  }
});
