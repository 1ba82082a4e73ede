import { TASK_CATEGORIES, TASK_DIFFICULTIES } from '@ui-rl/contracts';
import { IsArray, IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Max, Min } from 'class-validator';
import { Above, Below, describeOptions, Doc, Needs, type OptionsClass } from '../options';

type Decorators = readonly PropertyDecorator[];

/** Common options of all task sources; a source may override one by declaring the same name. */
const OPTIONS: Readonly<Record<keyof TaskChoiceOptions, Decorators>> = {
  category: [Doc('only tasks of this category'), IsOptional(), IsIn(TASK_CATEGORIES)],
  difficulty: [Doc('only tasks of this difficulty'), IsOptional(), IsIn(TASK_DIFFICULTIES)],
  tags: [
    Doc('only tasks that have one of these tags'),
    IsOptional(),
    IsArray(),
    IsString({ each: true }),
    IsNotEmpty({ each: true }),
  ],
  limit: [Doc('maximum number of tasks'), IsOptional(), IsInt(), Min(1)],
  seed: [Doc('shuffles the tasks; the same seed gives the same order'), IsOptional(), IsInt(), Min(0)],
  part: [
    Doc('train or eval: one of two disjoint parts of the tasks, split by goal'),
    IsOptional(),
    IsIn(['train', 'eval']),
  ],
  eval_share: [
    Doc('approximate share of the goals in the part eval; default: 0.1'),
    IsOptional(),
    Above(0),
    Below(1),
    Needs('part'),
  ],
  weight: [
    Doc(
      'relative weight of this source among the training groups; sources without a weight count as 1; default: every task has the same share',
    ),
    IsOptional(),
    Above(0),
    Max(1e6),
  ],
};

/** Which tasks of a source to use, and how often. */
export interface TaskChoiceOptions {
  category?: (typeof TASK_CATEGORIES)[number];
  difficulty?: (typeof TASK_DIFFICULTIES)[number];
  tags?: string[];
  limit?: number;
  seed?: number;
  part?: 'train' | 'eval';
  eval_share?: number;
  weight?: number;
}

/** The options of a task source, extended by the common ones. */
export function withChoiceOptions(own: OptionsClass): OptionsClass {
  class Options extends own {}
  for (const name of missingIn(own)) {
    // Applied from last to first, like decorators.
    for (const decorate of OPTIONS[name].toReversed()) decorate(Options.prototype, name);
  }
  return Options;
}

/** The common options in a run file, except those that the source overrides. */
export function readTaskChoice(
  own: OptionsClass,
  choice: Readonly<Record<string, unknown>>,
): TaskChoiceOptions {
  return Object.fromEntries(missingIn(own).map((name) => [name, choice[name] ?? undefined]));
}

function missingIn(own: OptionsClass): (keyof TaskChoiceOptions)[] {
  const declared = new Set(describeOptions(own).map(({ name }) => name));
  return (Object.keys(OPTIONS) as (keyof TaskChoiceOptions)[]).filter((name) => !declared.has(name));
}
