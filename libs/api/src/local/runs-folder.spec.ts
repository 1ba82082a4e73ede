import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRun } from '../run/start-run';
import { makeRunsFolder } from './runs-folder';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-runs-folder-'));
});
afterEach(() => {
  delete process.env.UIRL_RUNS_DIR;
  rmSync(folder, { recursive: true });
});

test('the folder of runs is made, and nothing stays in it', async () => {
  const runs = join(folder, 'a/b');
  await makeRunsFolder(runs);
  await makeRunsFolder(runs);
  expect(readdirSync(runs)).toEqual([]);
});

// File modes do not stop root from writing; a file in place of a folder stops every user.
test.each(['a-file/runs', 'a-file/deep/runs', 'a-file'])(
  'a folder that cannot be written to, %s, is named, and what to set',
  async (name) => {
    writeFileSync(join(folder, 'a-file'), '');
    const runs = join(folder, name);
    const reason = new RegExp(
      `^cannot write to ${runs}, where runs are kept: E.*\\. Set UIRL_RUNS_DIR to a folder`,
    );
    await expect(makeRunsFolder(runs)).rejects.toThrow(reason);
  },
);

test('a run with its own services ends there, before any service starts', async () => {
  writeFileSync(join(folder, 'a-file'), '');
  process.env.UIRL_RUNS_DIR = join(folder, 'a-file/runs');
  const run = {
    model: { name: 'small' },
    tasks: { source_type: 'demo_training' },
    training: { max_steps: 1 },
  };
  await expect(startRun(run, { services: 'own' })).rejects.toThrow(
    `cannot write to ${process.env.UIRL_RUNS_DIR}, where runs are kept`,
  );
  expect(existsSync(process.env.UIRL_RUNS_DIR)).toBe(false);
});
