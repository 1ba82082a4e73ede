import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@ui-rl/bus';
import type { StoredEpisode, Trajectory } from '@ui-rl/contracts';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { loadRunFile } from '@ui-rl/settings';
import sharp from 'sharp';
import { ASSUMED } from '../run/assumed';
import { MonitorEpisodes } from './monitor-source';
import { rescoreEpisodes } from './rescore-episodes';
import { FileEpisodes } from './source';

let dir: string;
let file: string;

/** An episode of which the state at the end says `screen`, scored as recorded. */
function played(id: string, screen: string, recorded: Partial<Trajectory>, hash: string): Trajectory {
  return makeTrajectory({
    request: makeRollout({
      rolloutId: id,
      task: makeTask({ checks: [{ path: 'screen', operator: 'equals', value: 'settings' }] }),
    }),
    turns: [
      makeTurn({
        promptImages: [hash],
        screenshot: hash,
        reward: 0.5,
        rewards: { old: 0.5 },
        actions: [{ action: 'click', x: 1, y: 2 }],
      }),
    ],
    finalState: { screen },
    finalScreenshot: '1'.repeat(64),
    ...recorded,
  });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'rescore-'));
  file = join(dir, 'episodes.jsonl');
  const png = await sharp({ create: { width: 8, height: 6, channels: 3, background: '#fff' } })
    .png()
    .toBuffer();
  const hash = sha256(png);
  const old = { 'task-success': 1 };
  const lines: StoredEpisode[] = [
    played('same', 'settings', { success: true, reward: 1, rewards: old }, hash),
    played('lost', 'home', { success: true, reward: 1, rewards: old }, hash),
    played('won', 'settings', { success: false, reward: 0, rewards: { 'task-success': 0 } }, hash),
    played('still', 'home', { success: false, reward: 0, rewards: { 'task-success': 0 } }, hash),
    played('unknown', 'home', { success: null, reward: 0, rewards: {} }, hash),
  ].map((trajectory) => ({ trajectory, images: { [hash]: png.toString('base64') } }));
  await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
});
afterAll(() => rm(dir, { recursive: true }));

it('judges recorded episodes again and says what changed', async () => {
  const out = join(dir, 'rescored.jsonl');
  const report = await rescoreEpisodes({
    source: new FileEpisodes(file),
    runFile: { rewards: ['task-success'] },
    out,
  });
  expect(report).toMatchObject({ path: out, episodes: 5, judged: 4, agreeing: 2, sameReward: 3, failed: [] });
  expect(report.kappa).toBeCloseTo(0);
  expect(report.meanReward).toEqual([0.4, 0.4]);
  expect(report.changed.map(({ rolloutId, success, reward }) => [rolloutId, success, reward])).toEqual([
    ['lost', [true, false], [1, 0]],
    ['won', [false, true], [0, 1]],
    ['unknown', [null, false], [0, 0]],
  ]);
  const written = (await readFile(out, 'utf8'))
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as StoredEpisode).trajectory);
  expect(written.map(({ reward }) => reward)).toEqual([1, 0, 1, 0, 0]);
  // A reward that was paid for a turn before is not kept.
  expect(written[0].turns[0].reward).toBeUndefined();
  expect(written[0].turns[0].tokenIds).toEqual([4, 5]);
});

it('takes rewards from flags, filters, and writes no file that was not asked for', async () => {
  const report = await rescoreEpisodes({
    source: new FileEpisodes(file),
    filter: { success: 'yes' },
    runFile: {},
    flags: ['--rewards', 'shaped'],
  });
  expect(report).toMatchObject({ path: undefined, episodes: 2 });
  expect(Number.isFinite(report.meanReward[1])).toBe(true);
});

it('takes verifier and rewards of the run that the monitor has recorded', async () => {
  const { run } = await loadRunFile({
    options: { rewards: [{ name: 'shaped', step_cost: 0.25 }] },
    assumed: ASSUMED,
  });
  const server = createServer((_, response) => response.end(JSON.stringify({ config: run })));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const monitor = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  try {
    const runFile = await new MonitorEpisodes({ monitor, runId: 'run' }).judges();
    const report = await rescoreEpisodes({ source: new FileEpisodes(file), runFile });
    expect(report.changed.find(({ rolloutId }) => rolloutId === 'still')?.reward).toEqual([0, -0.25]);
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});
