import { deviceMemory, tensor } from '@ui-rl/graph';
import { feedsOf, WeightSet } from './weight-set';

const weights = () => new WeightSet(3, new Map([['w', { shape: [2], data: Float32Array.of(1, 2) }]]));

test('derived values of a set are made once, and again after a failure or a release', async () => {
  const set = weights();
  let made = 0;
  const owner = {};
  const fail = () => Promise.reject(new Error(`attempt ${(made += 1)}`));
  await expect(set.derive(owner, fail)).rejects.toThrow('attempt 1');
  const make = () => Promise.resolve({ w: tensor('float32', [(made += 1)]) });
  expect(await set.derive(owner, make)).toBe(await set.derive(owner, make));
  expect(made).toBe(2);
  const broken = set.derive({}, fail);
  await expect(broken).rejects.toThrow('attempt 3');
  await set.free();
  await set.derive(owner, make);
  expect(made).toBe(4);
});

test('on the host sampler and trainer feed the same tensors, over the arrays of the set', async () => {
  const set = weights();
  const memory = deviceMemory('cpu');
  const { w } = await feedsOf(set, memory, ['w']);
  expect(w.data).toBe(set.tensors.get('w')!.data);
  expect((await set.feeds(memory)).w).toBe(w);
});
