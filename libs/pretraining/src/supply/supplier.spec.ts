import { tinyModel } from '../../test/tiny-model';
import { type Batch, Supplier } from './supplier';

/** The batches of two consecutive steps. */
async function batchesFrom(from: number, modelDir: string): Promise<Batch<'read'>[]> {
  const supplier = Supplier.start({ stage: 'read', modelDir, seed: 4, from });
  try {
    return [await supplier.next(), await supplier.next()];
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
