import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import long from '../long-specs.json';
import quickSpecs from '../quick-specs.cjs';

const ROOT = resolve(__dirname, '../../..');

test('npm test leaves out specs that exist, and nothing else', () => {
  expect(long.filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([]);
  const paths = [...long, 'libs/bus/src/consume.spec.ts'].map((path) => resolve(ROOT, path));
  const { filtered } = quickSpecs(paths);
  expect(filtered).toEqual(
    ['test/e2e/run.spec.ts', 'libs/bus/src/consume.spec.ts'].map((path) => resolve(ROOT, path)),
  );
});
