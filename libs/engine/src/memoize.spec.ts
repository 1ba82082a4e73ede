import { memoize } from './memoize';

it('makes what a key stands for once, and again where that failed', async () => {
  const known = new Map<string, Promise<number>>();
  const make = jest.fn<Promise<number>, []>();
  make.mockRejectedValueOnce(new Error('no memory')).mockResolvedValue(7);
  const attempts = [memoize(known, 'a', make), memoize(known, 'a', make)];
  for (const attempt of attempts) await expect(attempt).rejects.toThrow('no memory');
  expect(make).toHaveBeenCalledTimes(1);
  expect(await Promise.all([memoize(known, 'a', make), memoize(known, 'a', make)])).toEqual([7, 7]);
  expect(make).toHaveBeenCalledTimes(2);
});

it('does not forget what came after a failure', async () => {
  const known = new Map<string, Promise<number>>();
  const failing = memoize(known, 'a', () => Promise.reject(new Error('late')));
  known.clear();
  const next = memoize(known, 'a', () => Promise.resolve(1));
  await expect(failing).rejects.toThrow('late');
  expect(known.get('a')).toBe(next);
});
