import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { describeComponents } from './describe-run-file';
import { describeRun } from './describe-run';
import { optionsHelp } from './help';
import { parseRunFile, readRunFile } from './read-run-file';

let registry: ComponentRegistry;
let dir: string;
let file: string;
beforeAll(async () => {
  registry = await loadComponents();
  dir = mkdtempSync(join(tmpdir(), 'warm-start-'));
  file = join(dir, 'episodes.jsonl');
  writeFileSync(file, '');
});
afterAll(() => rmSync(dir, { recursive: true }));

const BASE = ['--model.name', 'small', '--tasks', '{"source_type":"demo_training"}'];
const read = (...flags: string[]) => readRunFile({ flags: [...BASE, ...flags] }, registry);
const onEpisodes = (...flags: string[]) =>
  read('--training.max_steps', '3', '--training.warm_start.episodes', file, ...flags);

it('imitates successes once, unless told otherwise', () => {
  expect(onEpisodes().training.warm_start).toEqual({
    episodes: file,
    loss: { name: 'cross_entropy' },
    reward_threshold: 0,
    batch_size: 32,
    epochs: 1,
    learning_rate: 1e-5,
    only: false,
  });
});

it('needs no other end where the run ends with it', () => {
  const run = read(
    '--training.warm_start.episodes',
    file,
    '--training.warm_start.only',
    '--training.max_minutes',
    '0',
  );
  expect(run.training).toMatchObject({ max_steps: 0, max_minutes: 0, warm_start: { only: true } });
  // As services read it, with every option named.
  run.training.warm_start.episodes = `uirl://file/${'0'.repeat(64)}/episodes.jsonl`;
  const stored = JSON.parse(JSON.stringify(run)) as object;
  expect(parseRunFile(stored, registry, 'a run').training.warm_start.only).toBe(true);
});

it.each([
  [
    ['--training.warm_start.epochs', '2'],
    /warm_start.epochs would have no effect: it needs training.warm_start.episodes$/m,
  ],
  [
    ['--training.warm_start.only'],
    /warm_start.only would have no effect: it needs training.warm_start.episodes/,
  ],
  [['--training.warm_start.loss', 'dpo'], /warm_start.loss would have no effect/],
])('is refused without episodes: %s', (flags, message) => {
  expect(() => read('--training.max_steps', '3', ...flags)).toThrow(message);
});

it.each([
  [['loss', 'ppo'], /warm_start.loss is ppo, which reads advantages: stored episodes have none/],
  [['loss', 'dpo', 'reward_threshold', '1'], /reward_threshold would have no effect: dpo compares/],
  [['steps', '5', 'epochs', '2'], /warm_start.epochs would have no effect beside training.warm_start.steps/],
  [['batch_size', '0'], /warm_start.batch_size.*at least 1/],
  [['learning_rate', '0'], /warm_start.learning_rate.*above 0/],
])('%s is refused', (options, message) => {
  const flags = options.map((text, at) => (at % 2 === 0 ? `--training.warm_start.${text}` : text));
  expect(() => onEpisodes(...flags)).toThrow(message);
});

it('refuses a file that is not there', () => {
  expect(() =>
    read('--training.max_steps', '3', '--training.warm_start.episodes', join(dir, 'nothing')),
  ).toThrow(/training.warm_start.episodes is .*nothing, but there is no such file/);
});

it('has options of its loss beside it; those alone are of algorithm.loss', () => {
  const run = onEpisodes(
    ...['--training.warm_start.loss', 'dpo', '--training.warm_start.loss.beta', '0.5'],
    ...['--algorithm.loss', 'ppo', '--algorithm.loss.clip_high', '0.28'],
  );
  expect(run.training.warm_start.loss).toEqual({ name: 'dpo', beta: 0.5, nll_coef: 0 });
  expect(run.algorithm.loss).toMatchObject({ name: 'ppo', clip_high: 0.28 });
});

it('has losses that are described once, where they are chosen first', () => {
  const dpo = describeComponents(registry).find(({ name }) => name === 'dpo')!;
  expect(dpo.options.map(({ path }) => path)).toEqual(['algorithm.loss.beta', 'algorithm.loss.nll_coef']);
  expect(optionsHelp(registry)).toMatch(
    /--training.warm_start.loss\n.*\n.*\n +as of --algorithm.loss; .* --training.warm_start.loss.<option>/,
  );
});

it('is shown as without effect where there are no episodes', () => {
  const options = describeRun(
    read('--training.max_steps', '3') as unknown as Record<string, unknown>,
    registry,
  ).flatMap((group) => group.options);
  const epochs = options.find(({ path }) => path === 'training.warm_start.epochs');
  expect(epochs?.ineffective).toBe('needs training.warm_start.episodes');
});
