import { loadComponents } from '@ui-rl/plugin-kit';
import { OptionSets } from './option-sets';
import { Judge } from './verdict';

/** By command there are many more. */
const SETS = 500;

it('whatever options are given together, a run starts, or is refused with the name of an option', async () => {
  const registry = await loadComponents();
  const sets = new OptionSets(registry, 1);
  const judge = new Judge(registry);
  const verdicts = Array.from({ length: SETS }, (_, number) => ({
    number,
    ...judge.judge(sets.draw(number)),
  }));
  expect(verdicts.filter(({ outcome }) => outcome === 'unsound')).toEqual([]);
  // Both happen: sets that are all refused would test nothing.
  for (const expected of ['starts', 'refused']) {
    expect(verdicts.filter(({ outcome }) => outcome === expected).length).toBeGreaterThan(SETS / 10);
  }
});
