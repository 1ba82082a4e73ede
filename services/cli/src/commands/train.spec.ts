import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { trainCommand } from './train';

const SMALL = ['--dry-run', '--model', 'small', '--tasks', 'demo_training', '--max_steps', '7'];

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'train-'));
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => rmSync(dir, { recursive: true }));

async function dryRun(...flags: string[]): Promise<string> {
  const said = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  await trainCommand().parseAsync([...SMALL, ...flags], { from: 'user' });
  return said.mock.calls.flat().join('\n');
}

it('says what a run would be, and when it ends', async () => {
  const said = await dryRun('--max_minutes', '2');
  expect(said).toMatch(/^ends after {2}7 steps or 2 minutes$/m);
  expect(said).toMatch(/nothing was started$/);
});

it('says of a run that ends with its warm start that its steps do not count', async () => {
  const episodes = join(dir, 'episodes.jsonl');
  writeFileSync(episodes, '');
  const only = ['--training.warm_start.only', '--training.warm_start.episodes', episodes];
  expect(await dryRun(...only)).toMatch(/^ends after {2}the warm start$/m);
});
