import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Launched } from './index';

interface Leftovers {
  folder: string;
  end(): Promise<Error | null>;
}
const Leftovers = jest.requireActual<new () => Leftovers>('../leftovers.cjs');

it('ends and removes what a test file leaves behind, and tells what it was', async () => {
  const leftovers = new Leftovers();
  mkdirSync(join(leftovers.folder, 'uirl-forgotten'));
  writeFileSync(join(leftovers.folder, 'uirl-forgotten', 'file'), '');
  const env = { PATH: process.env.PATH, TMPDIR: leftovers.folder };
  const forgotten = Launched.start(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { env });
  const error = await leftovers.end();
  expect(error?.message).toContain(`process ${forgotten.pid}: ${process.execPath} -e setInterval`);
  expect(error?.message).toContain('file uirl-forgotten');
  expect(await forgotten.exited).toBeNull();
  expect(existsSync(leftovers.folder)).toBe(false);
}, 30_000);

it('waits for what is about to end by itself', async () => {
  const leftovers = new Leftovers();
  const env = { PATH: process.env.PATH, TMPDIR: leftovers.folder };
  Launched.start(process.execPath, ['-e', 'setTimeout(() => {}, 300)'], { env });
  expect(await leftovers.end()).toBeNull();
});
