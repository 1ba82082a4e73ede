import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tinyModel } from '../../test/tiny-model';
import { LiveScreens } from './live-screens';
import { ScreenRecorder } from './record';
import { type Batch, Supplier, type SupplyOptions } from './supplier';

/** The batches of consecutive steps. */
async function batchesFrom(
  from: number,
  modelDir: string,
  { count = 2, ...options }: Partial<SupplyOptions> & { count?: number } = {},
): Promise<Batch<'read'>[]> {
  const defaults = { modelDir, seed: 4, from, batch: 1, threads: 1 };
  const supplier = Supplier.start({ ...defaults, ...options, stage: 'read' });
  try {
    const batches: Batch<'read'>[] = [];
    while (batches.length < count) batches.push(await supplier.next());
    return batches;
  } finally {
    await supplier.stop();
  }
}

test('an interrupted training continues with the next batch', async () => {
  const { dir } = await tinyModel();
  const [, second] = await batchesFrom(1, dir);
  const [again] = await batchesFrom(2, dir);
  expect(again.step).toBe(2);
  expect(again.screens.length).toBeGreaterThan(4);
  expect(again.screens.map(({ targets }) => targets)).toEqual(second.screens.map(({ targets }) => targets));
  // Antialiased edges, and texts of drop-down lists, can shift by a fraction of a pixel depending on earlier pages:
  // less than 1 % in all.
  const all = ({ screens }: Batch<'read'>) => screens.flatMap(({ image }) => Array.from(image.patches));
  const [expected, found] = [all(second), all(again)];
  expect(found.length).toBe(expected.length);
  const different = found.filter((value, at) => Math.abs(value - expected[at]) > 0.025);
  expect(different.length).toBeLessThan(0.01 * found.length);
  const characters = again.screens.reduce(
    (sum, { targets }) => sum + targets.characters.filter((index) => index > 0).length,
    0,
  );
  expect(characters).toBeGreaterThan(50);
}, 120_000);

describe('with recorded screens', () => {
  const folder = mkdtempSync(join(tmpdir(), 'supplier-'));
  const screens = join(folder, 'screens.bin');
  beforeAll(async () => {
    const live = await LiveScreens.launch();
    const recorder = await ScreenRecorder.create(screens);
    const sizes = [
      [160, 208],
      [160, 224],
      [224, 160],
      [320, 224],
    ];
    for (const [width, height] of sizes) {
      await recorder.add(await live.bySeed([1, 2, 3], { width, height }));
    }
    await recorder.close();
    await live.close();
  }, 60_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  test('threads supply the same batches in the same order', async () => {
    const { dir } = await tinyModel();
    const [one, two] = await Promise.all(
      [1, 2].map((threads) => batchesFrom(3, dir, { screens, threads, count: 9 })),
    );
    expect(two.map(({ step }) => step)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11]);
    expect(two).toEqual(one);
  }, 60_000);

  test('a batch has a multiple of screens', async () => {
    const { dir } = await tinyModel();
    const [single, triple] = await Promise.all(
      [1, 3].map((batch) => batchesFrom(1, dir, { screens, batch, count: 1 })),
    );
    expect(triple[0].screens.length).toBe(3 * single[0].screens.length);
  }, 60_000);

  test('the error of a thread ends the supply', async () => {
    const { dir } = await tinyModel();
    const missing = join(folder, 'missing.bin');
    await expect(batchesFrom(1, dir, { screens: missing, threads: 2 })).rejects.toThrow(
      /ENOENT.*missing\.bin/,
    );
  }, 60_000);
});
