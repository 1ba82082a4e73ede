import { Recent } from './recent';

let released: string[];
let made: string[];
let recent: Recent<string>;
beforeEach(() => {
  [released, made] = [[], []];
  recent = new Recent(2, async (value) => void released.push(value));
});

const get = (key: string): Promise<string> =>
  recent.get(key, async () => {
    made.push(key);
    return key;
  });

it('releases the least recently used item, and makes it again', async () => {
  for (const key of ['a', 'b', 'a', 'c']) expect(await get(key)).toBe(key);
  expect(released).toEqual(['b']);
  await get('a');
  await get('b');
  expect(released).toEqual(['b', 'c']);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
  await recent.release();
  expect(released).toEqual(['b', 'c', 'a', 'b']);
});

it('keeps nothing that could not be made', async () => {
  await expect(recent.get('a', () => Promise.reject(new Error('no memory')))).rejects.toThrow('no memory');
  expect(await get('a')).toBe('a');
  await get('b');
  expect(released).toEqual([]);
});
