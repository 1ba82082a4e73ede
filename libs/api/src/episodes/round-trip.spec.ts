import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@ui-rl/bus';
import type { Screenshot, StoredEpisode, Trajectory, Turn } from '@ui-rl/contracts';
import { EpisodeFile, planEpisodes, playRollout } from '@ui-rl/episode';
import { makeRollout, makeTask } from '@ui-rl/testkit';
import sharp from 'sharp';
import { loadForModel } from '../model/action-format';
import { VisionLanguageModel } from '../model/vision-language-model';
import { ASSUMED } from '../run/assumed';
import { MemoryScreenshots } from '../task/memory-screenshots';
import { exportEpisodes } from './export-episodes';
import { importEpisodes } from './import-episodes';
import { FileEpisodes } from './source';

const FLAGS = ['--model.prompt', 'full', '--model.history_turns', '2', '--rollout.max_tokens', '24'];

const CLICK = '{"action":"click","x":10,"y":20}';

let dir: string;
let played: Trajectory[];
const path = (name: string): string => join(dir, name);

async function screen(shade: number): Promise<Screenshot> {
  const png = await sharp({
    create: { width: 160, height: 224, channels: 3, background: { r: shade, g: 200, b: 255 - shade } },
  })
    .png()
    .toBuffer();
  return { png, sha256: sha256(png), width: 160, height: 224 };
}

/** An episode whose answers the shipped model samples; the screen turns after each action. */
async function play(model: VisionLanguageModel, seed: number): Promise<StoredEpisode> {
  const { run, registry } = await loadForModel({ options: {}, flags: FLAGS, assumed: ASSUMED });
  const planned = await planEpisodes(run, registry, () => undefined);
  const frames = await Promise.all([0, 60, 120, 180].map(screen));
  const screenshots = new MemoryScreenshots();
  let at = 0;
  const trajectory = await playRollout(
    makeRollout({
      rolloutId: `r${seed}`,
      samplingSeed: seed,
      task: makeTask({ description: 'Turn on Wi-Fi', maxSteps: 4, goalFrom: 'goal' }),
    }),
    {
      plan: {
        ...planned.plan,
        temperature: 2,
        verifier: { name: 'none', instance: { verify: () => seed % 2 === 0 } },
        rewards: [{ name: 'tenths', instance: { score: () => seed / 10 } }],
      },
      policy: {
        modelImage: (size) => model.modelImage(size),
        // Sampled answers of an untrained prompt can hardly ever be parsed.
        act: ({ images, ...request }) => {
          const bytes = images.map((each) => (typeof each === 'string' ? screenshots.png(each) : each));
          const asked = { ...request, images: bytes };
          const isOdd = /[13]$/.test(request.requestId);
          return isOdd ? model.answered(asked, `<think>${at}</think>\n${CLICK}`) : model.act(asked);
        },
      },
      open: async () => ({
        firstFrame: frames[0],
        initialState: { goal: 'Turn on Wi-Fi & Bluetooth' },
        step: async () => ({ screenshot: frames[++at % 4], outcome: 'ok', done: false }),
        close: async () => null,
        discard: () => undefined,
      }),
      screenshots,
      ...{ warn: () => undefined, actor: 'test', delivery: 1, restarts: 0 },
      stopping: new AbortController().signal,
    },
  );
  await planned.close();
  const hashes = new Set(trajectory.turns.flatMap(({ promptImages }) => promptImages));
  const images = [...hashes].map((hash) => [hash, Buffer.from(screenshots.png(hash)).toString('base64')]);
  return { trajectory, images: Object.fromEntries(images) };
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'round-trip-'));
  const model = await VisionLanguageModel.load('small', { device: 'cpu' });
  try {
    const lines: StoredEpisode[] = [];
    for (const seed of [1, 2, 3]) lines.push(await play(model, seed));
    played = lines.map(({ trajectory }) => trajectory);
    await writeFile(path('episodes.jsonl'), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  } finally {
    await model.stop();
  }
}, 300_000);
afterAll(() => rm(dir, { recursive: true }));

async function trajectoriesIn(file: string): Promise<Trajectory[]> {
  const found: Trajectory[] = [];
  for await (const { trajectory } of new EpisodeFile(file).read()) found.push(trajectory);
  return found;
}

/** The data of training, and the task and scores for people. */
const kept = ({ request, status, success, reward, rewards, turns }: Trajectory) => ({
  ...{ id: request.rolloutId, seed: request.seed, task: request.task.id, status, success, reward, rewards },
  turns: turns.map(({ promptTokenIds, promptImages, imageTokens, text, actions, screenshot }: Turn) => ({
    ...{ promptTokenIds, promptImages, imageTokens, text, actions, screenshot },
  })),
});
const sampled = ({ turns }: Trajectory) => turns.map(({ tokenIds, logprobs }) => ({ tokenIds, logprobs }));

it('has episodes of several turns, some of whose answers cannot be parsed', () => {
  const turns = played.flatMap(({ turns: each }) => each);
  expect(turns.length).toBeGreaterThan(played.length);
  expect(turns.some(({ parseError }) => parseError !== undefined)).toBe(true);
  expect(turns.some(({ actions }) => actions.length > 0)).toBe(true);
});

it.each([
  ['chat', 'chat.jsonl'],
  ['atif', 'atif'],
] as const)(
  'export to %s and import give the same prompts, texts and rewards',
  async (format, name) => {
    const exported = await exportEpisodes({
      source: new FileEpisodes(path('episodes.jsonl')),
      to: format,
      out: path(name),
    });
    expect(exported).toMatchObject({ path: path(name), episodes: 3 });
    const out = path(`${format}-episodes.jsonl`);
    const imported = await importEpisodes({ path: path(name), from: format, out, flags: FLAGS });
    expect(imported).toMatchObject({ episodes: 3, stepsLeftOut: [], trajectoriesLeftOut: [] });
    const again = await trajectoriesIn(out);
    const byId = (all: readonly Trajectory[]) => all.toSorted((a, b) => (kept(a).id < kept(b).id ? -1 : 1));
    expect(byId(again).map(kept)).toEqual(byId(played).map(kept));
    expect(again.map(({ request }) => request.task.description)).toEqual(
      played.map(() => 'Turn on Wi-Fi & Bluetooth'),
    );
    if (format === 'atif') expect(byId(again).map(sampled)).toEqual(byId(played).map(sampled));
  },
  300_000,
);

it('writes chat messages and ATIF in their own form', async () => {
  const [line] = (await readFile(path('chat.jsonl'), 'utf8')).split('\n');
  const { messages } = JSON.parse(line) as { messages: { role: string; content: unknown }[] };
  expect(messages[0]).toEqual({
    role: 'user',
    content: [
      { type: 'text', text: 'Turn on Wi-Fi & Bluetooth' },
      { type: 'image_url', image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) } },
    ],
  });
  expect(messages[1]).toEqual({ role: 'assistant', content: played[0].turns[0].text });
  expect(messages).toHaveLength(2 * played[0].turns.length);
  const files = await readdir(path('atif'));
  expect(files.toSorted()).toEqual([
    'images',
    'r1.trajectory.json',
    'r2.trajectory.json',
    'r3.trajectory.json',
  ]);
  const atif = JSON.parse(await readFile(join(path('atif'), 'r1.trajectory.json'), 'utf8')) as {
    steps: { step_id: number; source: string; metrics?: object }[];
  };
  expect(atif).toMatchObject({ schema_version: 'ATIF-v1.8', session_id: 'run', trajectory_id: 'r1' });
  expect(atif.steps.map(({ step_id }) => step_id)).toEqual(atif.steps.map((_, index) => index + 1));
  expect(atif.steps[0].source).toBe('user');
  expect(atif.steps[1]).toMatchObject({
    source: 'agent',
    message: played[0].turns[0].text,
    metrics: { completion_token_ids: played[0].turns[0].tokenIds },
  });
});

it.each([
  [{ success: 'yes' as const }, ['r2']],
  [{ success: 'no' as const, minReward: 0.2 }, ['r3']],
  [{ maxReward: 0.2 }, ['r1', 'r2']],
  [{ steps: [0, 0] as const }, ['r1', 'r2', 'r3']],
  [{ task: 'WI-FI' }, ['r1', 'r2', 'r3']],
])('exports the episodes of a filter: %j', async (filter, expected) => {
  const out = path('filtered.jsonl');
  await exportEpisodes({ source: new FileEpisodes(path('episodes.jsonl')), filter, to: 'episodes', out });
  expect((await trajectoriesIn(out)).map(({ request }) => request.rolloutId)).toEqual(expected);
});

it.each([[{ steps: [1, 5] as const }], [{ task: 'Mail' }]])(
  'leaves no file without an episode: %j',
  async (filter) => {
    const before = await readdir(dir);
    const source = new FileEpisodes(path('episodes.jsonl'));
    for (const to of ['chat', 'atif', 'episodes'] as const) {
      await expect(exportEpisodes({ source, filter, to, out: path('none') })).rejects.toThrow(
        /has no such episode/,
      );
    }
    expect(await readdir(dir)).toEqual(before);
  },
);
