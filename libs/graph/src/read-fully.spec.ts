import { mkdtemp, open, rm, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFully } from './read-fully';

describe('reading a part of a file', () => {
  let folder: string;
  beforeAll(async () => (folder = await mkdtemp(join(tmpdir(), 'read-fully-'))));
  afterAll(() => rm(folder, { recursive: true }));

  it('fills an array, or says how much there was', async () => {
    const path = join(folder, 'numbers');
    await writeFile(path, Uint8Array.of(1, 2, 3, 4, 5));
    const file = await open(path);
    const [inside, beyond] = [new Uint8Array(3), new Uint8Array(3)];
    expect(await readFully(file, inside, 1)).toBe(3);
    expect([...inside]).toEqual([2, 3, 4]);
    expect(await readFully(file, beyond, 4)).toBe(1);
    await file.close();
  });

  it('never asks for 2 GiB at once, which ends the process', async () => {
    const asked: number[][] = [];
    const file = {
      read: (buffer: Uint8Array, offset: number, length: number, position: number) => {
        asked.push([offset, length, position]);
        return Promise.resolve({ bytesRead: length, buffer });
      },
    } as unknown as FileHandle;
    // The test never writes to the array, so its pages are not allocated.
    const size = 2 ** 31 + 10;
    expect(await readFully(file, new Uint8Array(size), 7)).toBe(size);
    expect(asked).toEqual([
      [0, 2 ** 30, 7],
      [2 ** 30, 2 ** 30, 7 + 2 ** 30],
      [2 ** 31, 10, 7 + 2 ** 31],
    ]);
  });
});
