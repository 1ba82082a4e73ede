import { isDeepStrictEqual } from 'node:util';
import type { SettingsProblem } from './errors';
import { RUN_OPTIONS } from './options';

type Values = ReadonlyMap<string, unknown>;

/** Options that exclude each other or would do nothing together. `given` = those the user wrote. */
export function conflictsOf(values: Values, given: ReadonlySet<string>): SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  const refuse = (message: string) => problems.push({ category: 'conflict', message });
  refuseIdle(values, given, refuse);
  const name = values.get('algorithm.name') as string;
  const loss = values.get('algorithm.loss') as string | undefined;
  const supervised = name === 'rejection_sampling';
  if (loss !== undefined && supervised !== (loss === 'cross_entropy')) {
    refuse(
      `algorithm.loss is ${loss}, but algorithm.name ${name} goes with ${supervised ? 'cross_entropy' : 'importance_sampling or ppo'}`,
    );
  }
  const number = (path: string) => values.get(path) as number;
  if (!supervised && number('rollout.group_size') < 2) {
    refuse(`rollout.group_size is 1, but ${name} compares the episodes of a group: at least 2`);
  }
  if (number('training.max_steps') === 0 && number('training.max_minutes') === 0) {
    refuse('the training has no end: give training.max_steps or training.max_minutes');
  }
  if (
    values.get('training.lr_schedule') !== 'constant' &&
    number('training.max_steps') <= number('training.warmup_steps')
  ) {
    refuse(
      `training.lr_schedule ${String(values.get('training.lr_schedule'))} needs training.max_steps above training.warmup_steps`,
    );
  }
  if (number('training.num_substeps') > number('training.groups_per_batch')) {
    refuse(
      `training.num_substeps is ${number('training.num_substeps')}, but a batch has only ${number('training.groups_per_batch')} groups`,
    );
  }
  if (values.get('training.deterministic') === true && number('async.max_steps_off_policy') > 0) {
    refuse(
      'training.deterministic needs async.max_steps_off_policy 0: otherwise timing decides which policy samples',
    );
  }
  if (values.get('algorithm.loss_aggregation') === 'constant' && !values.has('algorithm.constant_tokens')) {
    refuse('algorithm.loss_aggregation constant needs algorithm.constant_tokens');
  }
  return problems;
}

interface Condition {
  option: string;
  needs: string;
  holds: (values: Values) => boolean;
}

const CONDITIONS: Condition[] = [
  ...['rank', 'alpha', 'use_rslora', 'targets', 'dropout', 'vision'].map((key) => ({
    option: `model.lora.${key}`,
    needs: 'model.use_lora true',
    holds: (values: Values) => values.get('model.use_lora') === true,
  })),
  {
    option: 'model.quantization',
    needs: 'model.use_lora true',
    holds: (values: Values) => values.get('model.use_lora') === true,
  },
  ...['clip_low', 'clip_high', 'dual_clip'].map((key) => ({
    option: `algorithm.${key}`,
    needs: 'algorithm.loss ppo',
    holds: (values: Values) => values.get('algorithm.loss') === 'ppo',
  })),
  ...['reward_threshold', 'best_of_group'].map((key) => ({
    option: `algorithm.${key}`,
    needs: 'algorithm.name rejection_sampling',
    holds: (values: Values) => values.get('algorithm.name') === 'rejection_sampling',
  })),
  {
    option: 'algorithm.constant_tokens',
    needs: 'algorithm.loss_aggregation constant',
    holds: (values) => values.get('algorithm.loss_aggregation') === 'constant',
  },
  {
    option: 'algorithm.dynamic_sampling_limit',
    needs: 'algorithm.dynamic_sampling true',
    holds: (values) => values.get('algorithm.dynamic_sampling') === true,
  },
];

/**
 * An option that is written but would do nothing is refused, unless it is written with its default: a stored run file
 * names every option.
 */
function refuseIdle(values: Values, given: ReadonlySet<string>, refuse: (message: string) => void): void {
  for (const { option, needs, holds } of CONDITIONS) {
    if (given.has(option) && !isDefault(option, values.get(option)) && !holds(values)) {
      refuse(`${option} would have no effect: it needs ${needs}`);
    }
  }
}

function isDefault(path: string, value: unknown): boolean {
  return isDeepStrictEqual(RUN_OPTIONS.find((option) => option.path === path)?.default, value);
}
