import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { OptionSets } from './option-sets';
import { Judge } from './verdict';

let registry: ComponentRegistry;
let judge: Judge;
beforeAll(async () => {
  registry = await loadComponents();
  judge = new Judge(registry);
});

it.each<[string, object, string[], boolean]>([
  ['run.yaml: training.seed is "x", expected a whole number', { training: { seed: 'x' } }, [], true],
  ['training.seeds is "x"', { training: { seed: 'x' } }, [], false],
  ['training.seed is "x"', { training: { epochs: 2 } }, [], false],
  // The name of a group, or a plain word, does not count.
  ['the training has no end, with any model', { training: { seed: 1 }, model: { name: 'm' } }, [], false],
  ['--model_name: model.name is ""', {}, ['--model_name', ''], true],
  ['training.schedule.warmup_steps is -1', { training: { schedule: { warmup_steps: -1 } } }, [], true],
  [
    'logging.trackers[1].wandb_project is ""',
    { logging: { trackers: ['jsonl', { name: 'wandb', wandb_project: '' }] } },
    [],
    true,
  ],
  ['rewards[0].weight is "x"', { rewards: [{ name: 'judge', weight: 'x' }] }, [], true],
  ['unknown option "trainng". Did you mean training?', { trainng: 1 }, [], true],
  ['model.name is missing, expected a text', {}, [], true],
  ['something is missing', {}, [], false],
])('knows whether %j names an option of %j %j: %s', (message, options, flags, expected) => {
  expect(judge.names({ options: { ...options }, flags }, message)).toBe(expected);
});

/** The command runs many more. */
const SETS = 500;

it('with any set of options, a run starts, or is refused with the name of an option', () => {
  const sets = new OptionSets(registry, 1);
  const verdicts = Array.from({ length: SETS }, (_, number) => ({
    number,
    ...judge.judge(sets.draw(number)),
  }));
  expect(verdicts.filter(({ outcome }) => outcome === 'unsound')).toEqual([]);
  // Both outcomes must occur: if all sets were refused, nothing would be tested.
  for (const expected of ['starts', 'refused']) {
    expect(verdicts.filter(({ outcome }) => outcome === expected).length).toBeGreaterThan(SETS / 10);
  }
});
