import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { Group } from '../episodes/groups';
import { EpisodeLog } from './episode-log';

const SEEN = 'a'.repeat(64);
const LAST = 'b'.repeat(64);
const GONE = 'c'.repeat(64);
const png = Buffer.from('png');
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'episodes-'));
});
afterEach(() => rm(dir, { recursive: true }));

function log(groups = 1): EpisodeLog {
  const screenshot = (sha256: string): Promise<Buffer | null> =>
    Promise.resolve(sha256 === GONE ? null : png);
  return new EpisodeLog({ runId: 'run', dir, groups, screenshot });
}

function group(id: string): Group {
  const task = makeTask({ description: 'Turn on <b>Wi-Fi</b> & "more"' });
  const made = new Group(0, id, 2, task);
  const turn = makeTurn({
    ...{ screenshot: SEEN, text: '<script>alert(1)</script>', actions: [{ kind: 'click', x: 3 }] },
    ...{ outcome: 'ok', tokenIds: [1, 2], logprobs: [-0.5, -0.25], screenText: 'page "<i>"' },
  });
  const unread = makeTurn({ screenshot: GONE, text: 'what?', actions: [], parseError: 'no action' });
  for (const indexInGroup of [0, 1]) {
    const request = makeRollout({ task, indexInGroup, rolloutId: `${id}-r${indexInGroup}`, groupId: id });
    made.add(
      makeTrajectory({
        ...{ request, turns: indexInGroup === 0 ? [turn] : [turn, unread], finalScreenshot: LAST },
        ...{ success: indexInGroup === 0, reward: 1 - indexInGroup },
      }),
    );
  }
  return made;
}

it('writes as many groups of a step as it is asked to, with their screenshots', async () => {
  const episodes = log(2);
  episodes.add(12, [group('g4'), group('g5'), group('g6')]);
  await episodes.close();
  expect(await readdir(dir)).toEqual(['000012']);
  const names = await readdir(join(dir, '000012'));
  expect(names.toSorted((a, b) => a.localeCompare(b))).toEqual([
    `${SEEN}.png`,
    `${LAST}.png`,
    'g4.html',
    'g5.html',
  ]);
  const page = await readFile(join(dir, '000012/g4.html'), 'utf8');
  for (const part of [
    'Turn on &lt;b&gt;Wi-Fi&lt;/b&gt; &amp; &quot;more&quot;',
    '<summary>the screen as text</summary><pre>page &quot;&lt;i&gt;&quot;</pre>',
    'rewards 1, 0',
    'g4-r0 <span class="good">success',
    'g4-r1 <span class="bad">failure',
    '&lt;script&gt;alert(1)&lt;/script&gt;',
    '{&quot;kind&quot;:&quot;click&quot;,&quot;x&quot;:3}',
    '2 tokens, log-probability -0.75',
    'not read: no action',
    'this screenshot is not stored any more',
    `<img src="${SEEN}.png"`,
    `<img src="${LAST}.png"`,
  ])
    expect(page).toContain(part);
  expect(page).not.toContain('<script');
});

it('writes none where none are wanted', async () => {
  const episodes = log(0);
  episodes.add(1, [group('g0')]);
  await episodes.close();
  expect(await readdir(dir)).toEqual([]);
});

it('drops episodes after the step that the run continues from, and the oldest of many', async () => {
  const episodes = log();
  for (const step of [1, 2, 3]) {
    episodes.add(step, [group('g0')]);
    await episodes.close();
  }
  await log().resume(2);
  expect(await readdir(dir)).toEqual(['000001', '000002']);
  for (let step = 4; step <= 101; step += 1) await mkdir(join(dir, String(step).padStart(6, '0')));
  const later = log();
  later.add(102, [group('g0')]);
  await later.close();
  const kept = await readdir(dir);
  expect(kept).toHaveLength(100);
  expect(kept).not.toContain('000001');
  expect(kept).toContain('000102');
});
