import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FolderInUseError, lockFolder } from './folder-lock';

test('the lock of a process that is gone is taken over', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-records-'));
  const lock = `${join(folder, 'database')}.lock`;
  await writeFile(lock, String(2 ** 22 + 1));
  const unlock = await lockFolder(join(folder, 'database'));
  expect(await readFile(lock, 'utf8')).toBe(String(process.pid));
  await unlock();
  expect(await readdir(folder)).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

test('a lock that is held is not given away', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ui-rl-lock-'));
  const unlock = await lockFolder(join(folder, 'store'));
  const again = lockFolder(join(folder, 'store'));
  await expect(again).rejects.toThrow(FolderInUseError);
  await expect(again).rejects.toThrow(`process ${process.pid} has it open`);
  await unlock();
  await (
    await lockFolder(join(folder, 'store'))
  )();
  await rm(folder, { recursive: true, force: true });
});
