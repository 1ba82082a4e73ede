import { IsOptional } from 'class-validator';
import {
  Choice,
  Doc,
  Fits,
  isRecord,
  PluginError,
  type ComponentChoice,
  type RewardComponent,
} from '@ui-rl/plugin-kit';
import { combined, type Member } from './combine';

export class CompositeOptions {
  @Doc('the rewards to sum, each with its own options, none twice')
  @Choice('reward', { many: true })
  of: ComponentChoice[];

  @Doc('factor by the name of a reward; default: 1')
  @IsOptional()
  @Fits(
    'an object with a number for each reward it names',
    (value) => isRecord(value) && Object.values(value).every((factor) => Number.isFinite(factor)),
  )
  weights?: Record<string, number>;
}

const composite: RewardComponent<CompositeOptions> = {
  kind: 'reward',
  name: 'composite',
  description: 'The weighted sum of other rewards; their parts keep their names.',
  options: CompositeOptions,
  conflicts: (options) => problemsOf(options),
  async create(options, { reward }) {
    const [problem] = problemsOf(options);
    if (problem !== undefined) throw new PluginError('option', problem);
    const members: Member[] = [];
    for (const choice of options.of) {
      const { name } = choice;
      members.push({ name, weight: options.weights?.[name] ?? 1, reward: await reward(choice) });
    }
    return { score: (episode, deadline) => combined(members, episode, deadline) };
  },
};

function problemsOf({ of: members, weights = {} }: CompositeOptions): string[] {
  const names = members.map(({ name }) => name);
  const problems: string[] = [];
  if (names.length === 0) problems.push('reward composite: "of" names no reward');
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) problems.push(`reward composite: "of" names ${twice} twice`);
  for (const name of Object.keys(weights).filter((each) => !names.includes(each))) {
    problems.push(
      `reward composite: weights names "${name}", which is none of its rewards (${names.join(', ')})`,
    );
  }
  return problems;
}

export const components = [composite];
