import { TensorPool } from './tensor-pool';

it('uses memory again, and lets go of what two passes had no use for', () => {
  const pool = new TensorPool();
  const first = pool.take('float32', [2, 3]);
  pool.give(first);
  pool.begin();
  const again = pool.take('float32', [3, 2]);
  expect(again.data).toBe(first.data);
  pool.give(again);
  for (const length of [4, 5]) {
    pool.begin();
    pool.give(pool.take('float32', [length, 3]));
  }
  pool.begin();
  expect(pool.take('float32', [2, 3]).data).not.toBe(first.data);
});
