import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from '@ui-rl/bus';
import { environmentSeed, type Trajectory } from '@ui-rl/contracts';
import { makeRollout, makeTask, makeTrajectory, makeTurn } from '@ui-rl/testkit';
import { StoredEpisodes, type EpisodeChecks } from './stored-episodes';

const PNG = Buffer.from('a screenshot');
const HASH = sha256(PNG);
const images = { [HASH]: PNG.toString('base64') };

let dir: string;
let file: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'stored-'));
  file = join(dir, 'episodes.jsonl');
});
afterAll(() => rm(dir, { recursive: true }));

const checks: EpisodeChecks = {
  tokens: { vocabSize: 100, imageTokenId: 3 },
  maxSequence: 16,
  textsOf: (tokenIds) => [tokenIds.map((id) => `<${id}>`).join('')],
  evaluationTasks: [makeTask({ id: 'held_out', description: 'Open Mail' })],
};

function played(rolloutId: string, changes: Partial<Trajectory> = {}, request: object = {}): Trajectory {
  const turn = makeTurn({ promptImages: [HASH], text: '<4><5>' });
  return makeTrajectory({ request: makeRollout({ rolloutId, ...request }), turns: [turn], ...changes });
}

async function open(...lines: (object | string)[]): Promise<StoredEpisodes> {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  await writeFile(file, `${text.join('\n')}\n`);
  return StoredEpisodes.open(file, checks);
}

it('reads episodes and screenshots again where they stand', async () => {
  const [a, b] = [played('a'), played('b', { reward: 0.25 })];
  const stored = await open({ trajectory: a, images }, '', '  ', { trajectory: b });
  expect(stored.episodes.map(({ rolloutId, reward, line }) => [rolloutId, reward, line.number])).toEqual([
    ['a', 1, 1],
    ['b', 0.25, 4],
  ]);
  expect(stored.episodes[0].start).toBe(stored.episodes[1].start);
  const read = await stored.read(stored.episodes[1]);
  expect(JSON.parse(JSON.stringify(read.trajectory))).toEqual(JSON.parse(JSON.stringify(b)));
  expect(read.images.size).toBe(0);
  expect((await stored.read(stored.episodes[0])).images.get(HASH)).toEqual(PNG);
  expect(Buffer.from((await stored.image(HASH))!)).toEqual(PNG);
  expect(await stored.image('0'.repeat(64))).toBeNull();
});

it('tells tasks and starts apart', async () => {
  const lines = [
    played('a'),
    played('b', {}, { seed: 2 }),
    played('c', {}, { task: makeTask({ id: 'other' }) }),
  ].map((trajectory) => ({ trajectory, images }));
  const { episodes } = await open(...lines);
  expect(new Set(episodes.map(({ start }) => start)).size).toBe(3);
});

it('leaves out what is evaluated, or says nothing of the policy', async () => {
  const evaluated = environmentSeed('evaluation', 0, 'x');
  const lines = [
    played('kept'),
    played('purpose', {}, { purpose: 'eval', evaluationId: 'e' }),
    played('baseline', {}, { purpose: 'baseline', evaluationId: 'e' }),
    played('seed', {}, { seed: evaluated }),
    played('id', {}, { task: makeTask({ id: 'held_out', description: 'in other words' }) }),
    played('words', {}, { task: makeTask({ id: 'other', description: 'Open Mail' }) }),
    played('invalid', { status: 'invalid', invalidReason: 'the browser crashed', turns: [] }),
    played('empty', { turns: [] }),
  ].map((trajectory) => ({ trajectory, images }));
  const { episodes, leftOut } = await open(...lines);
  expect(episodes.map(({ rolloutId }) => rolloutId)).toEqual(['kept']);
  expect([...leftOut.values()].reduce((sum, count) => sum + count)).toBe(7);
  expect(leftOut.get('of tasks that the run evaluates (eval_tasks)')).toBe(2);
  await expect(open(...lines.slice(1))).rejects.toThrow(/no episode to learn from: .*2 of tasks that/);
});

const turn = (changes: object) => ({ turns: [makeTurn({ promptImages: [HASH], text: '', ...changes })] });
const wrong: [string, object | string, RegExp][] = [
  ['what is not JSON', '{"trajectory": ', /line 2: not JSON/],
  ['another object', { episode: 1 }, /line 2: trajectory: should not be null or undefined/],
  [
    'a wrong type',
    { trajectory: Object.assign(played('b'), { reward: 'high' }) },
    /line 2: trajectory.reward: must be a number/,
  ],
  ['a wrong hash', { trajectory: played('b'), images: { [HASH]: 'AAAA' } }, /images: .* has the content of/],
  ['bytes that are no base64', { trajectory: played('b'), images: { [HASH]: '#' } }, /PNGs in base64/],
  [
    'a missing screenshot',
    { trajectory: played('b', turn({ promptImages: ['1'.repeat(64)] })) },
    /shows 1{64} in turn 0/,
  ],
  [
    'a token the model lacks',
    { trajectory: played('b', turn({ tokenIds: [4, 500] })) },
    /has token 500, the model knows 0 to 99/,
  ],
  ['a number too few', { trajectory: played('b', turn({ logprobs: [-1] })) }, /2 tokens but 1 log-prob/],
  [
    'placeholders too many',
    { trajectory: played('b', turn({ imageTokens: 2 })) },
    /1 image placeholders but 2/,
  ],
  [
    'too many tokens',
    { trajectory: played('b', turn({ promptTokenIds: [3, ...Array(15).fill(1)] })) },
    /has 18 tokens in turn 0, model.max_sequence is 16/,
  ],
  [
    'tokens of another model',
    { trajectory: played('b', turn({ text: 'click(3)' })) },
    /says "click\(3\)" in turn 0, but its tokens are "<4><5>" in this model/,
  ],
  ['an episode that comes twice', { trajectory: played('a') }, /line 2: episode a is in line 1, too/],
];

it.each(wrong)('refuses %s, by its line', async (_, line, reason) => {
  await expect(open({ trajectory: played('a'), images }, line)).rejects.toThrow(reason);
});

it('refuses a file that changed since', async () => {
  const stored = await open({ trajectory: played('a'), images });
  await truncate(file, 10);
  await expect(stored.read(stored.episodes[0])).rejects.toThrow('line 1: was cut off since it was checked');
});

it('finds lines wherever the pieces end in which a file is read', async () => {
  const lines = Array.from({ length: 40 }, (_, index) => ({
    trajectory: played(`e${index}`, { finalState: { filler: 'x'.repeat(8_000) } }),
    images: index === 0 ? images : {},
  }));
  const stored = await open(...lines);
  expect(stored.episodes).toHaveLength(40);
  const last = await stored.read(stored.episodes[39]);
  expect(last.trajectory.request.rolloutId).toBe('e39');
});
