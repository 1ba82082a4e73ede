import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whileDiskIsFull } from './disk-full';

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'disk-full-'));
});
afterAll(() => rm(dir, { recursive: true }));

const said: string[] = [];
const warnings = {
  send: async (code: string, message: string): Promise<void> => void said.push(`${code}: ${message}`),
};

it('a checkpoint is written once the disk has room again, and the run says what it waits for', async () => {
  const file = join(dir, 'state.json');
  // A device that is always full.
  await symlink('/dev/full', file);
  let attempts = 0;
  const write = async (): Promise<void> => {
    attempts += 1;
    if (attempts === 4) await rm(file);
    await writeFile(file, '{}');
  };
  await whileDiskIsFull(warnings, dir, write, { firstMs: 1, maxMs: 4 });
  expect(await readFile(file, 'utf8')).toBe('{}');
  expect(attempts).toBe(4);
  expect(said).toEqual([
    expect.stringMatching(/^disk_full: training waits for room on the disk of .*: ENOSPC/),
  ]);
});

it('a failure for another reason fails at once', async () => {
  const write = (): Promise<void> => writeFile(join(dir, 'missing/state.json'), '{}');
  await expect(whileDiskIsFull(warnings, dir, write)).rejects.toThrow('ENOENT');
});
