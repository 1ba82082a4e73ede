import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { sha256 } from '@ui-rl/bus';
import sharp from 'sharp';
import { episodesCommand } from './episodes';

let dir: string;
let printed: string[];
const path = (name: string): string => join(dir, name);

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'ui-rl-episodes-'));
  const png = await sharp({ create: { width: 8, height: 6, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();
  const hash = sha256(png);
  const task = makeTask({ checks: [{ path: 'screen', operator: 'equals', value: 'settings' }] });
  const line = (rolloutId: string, screen: string) => ({
    trajectory: makeTrajectory({
      request: makeRollout({ rolloutId, task }),
      turns: [makeTurn({ promptImages: [hash], screenshot: hash, policyVersion: 3 })],
      finalState: { screen },
    }),
    images: { [hash]: png.toString('base64') },
  });
  const lines = [line('a', 'settings'), line('b', 'home')];
  writeFileSync(path('episodes.jsonl'), lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
});
afterAll(() => rmSync(dir, { recursive: true }));
beforeEach(() => {
  printed = [];
  jest.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text));
});
afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
});

async function run(...args: string[]): Promise<string> {
  await episodesCommand().exitOverride().parseAsync(args, { from: 'user' });
  return printed.join('\n');
}

it('exports the episodes of a file', async () => {
  const out = path('chat.jsonl');
  const said = await run(
    'export',
    '--file',
    path('episodes.jsonl'),
    '--to',
    'chat',
    '--steps',
    '3',
    '--out',
    out,
  );
  expect(said).toMatch(/^2 episodes with 2 screenshots in .*chat\.jsonl \(/);
  expect(readFileSync(out, 'utf8').trim().split('\n')).toHaveLength(2);
});

it('prints what a reward changes', async () => {
  const said = await run('rescore', '--file', path('episodes.jsonl'), '--rewards', 'task-success');
  expect(said).toBe(
    [
      '2 episodes scored again',
      "verdicts: 1 of 2 agree, Cohen's κ 0.00",
      'returns: 1 of 2 are the same, mean 1 → 0.5',
      '  b  train_01_open_settings  success → failure  1 → 0',
    ].join('\n'),
  );
});

it.each([
  [['export', '--to', 'chat', '--out', 'x'], /expected --run or --file/],
  [
    ['export', '--run', 'r', '--file', 'f', '--to', 'chat', '--out', 'x'],
    /--run and --file both name episodes/,
  ],
])('refuses %j', async (args, message) => {
  await expect(run(...args)).rejects.toThrow(message);
});
