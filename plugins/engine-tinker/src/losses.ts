import type { ComponentChoice, LossInput, LossModel, RunView } from '@ui-rl/plugin-kit';
import { TinkerError } from './errors';

/** Maps a loss of this project to Tinker's API. */
interface TinkerLoss {
  /** Tinker's name of a datum's input → the engine's name. */
  inputs: Readonly<Record<string, LossInput>>;
  /** Options for the service; a string names the unsupported option. */
  config(options: Readonly<Record<string, unknown>>): Record<string, number> | string;
}

const RATIO = { logprobs: 'old_logprobs', advantages: 'advantages' } as const;

/** Default maximum total variation of `dppo`; services have a different default (SkyRL 0.2). */
const USUAL_DELTA = 0.15;

/** Losses with one value per token. */
const LOSSES: Readonly<Record<string, TinkerLoss>> = {
  cross_entropy: { inputs: {}, config: () => ({}) },
  importance_sampling: { inputs: RATIO, config: () => ({}) },
  ppo: {
    inputs: RATIO,
    config: ({ clip_low, clip_high, clip_epsilon, dual_clip }) =>
      typeof dual_clip === 'number'
        ? 'dual_clip'
        : {
            clip_low_threshold: 1 - Number(clip_epsilon ?? clip_low),
            clip_high_threshold: 1 + Number(clip_epsilon ?? clip_high),
          },
  },
  cispo: {
    inputs: RATIO,
    config: ({ ratio_low, ratio_high }) => ({
      clip_low_threshold: Number(ratio_low),
      clip_high_threshold: Number(ratio_high),
    }),
  },
  dro: { inputs: RATIO, config: ({ beta }) => ({ beta: Number(beta) }) },
  dppo: {
    inputs: { logprobs: 'sample_logprobs', advantages: 'advantages' },
    config: ({ divergence = 'tv', delta_low, delta_high }) =>
      divergence === 'tv'
        ? { delta_low: Number(delta_low ?? USUAL_DELTA), delta_high: Number(delta_high ?? USUAL_DELTA) }
        : `divergence ${String(divergence)}, but total variation (tv) alone`,
  },
};

/** Services have a default clip range and no option to disable it; squares of larger distances overflow float32. */
const NO_CLIP = 1e20;

/** The critic's loss. */
const VALUE: TinkerLoss = {
  inputs: { values: 'values', returns: 'returns' },
  config: ({ value_clip }) => ({ value_clip: Number(value_clip) || NO_CLIP }),
};

/** Losses with a different meaning in Tinker's API. */
const OTHERS: Readonly<Record<string, string>> = {
  gspo: 'has one ratio for each datum, which is a turn; here it is one for all turns of an episode',
};

export interface ChosenLoss {
  name: string;
  config: Record<string, number>;
  inputs: TinkerLoss['inputs'];
}

/** Why the service does not support a loss; undefined if it does. */
function problemOf({ name, ...options }: ComponentChoice): string | undefined {
  if (Object.hasOwn(OTHERS, name)) return `algorithm.loss ${name}: that of Tinker's API ${OTHERS[name]}`;
  if (!Object.hasOwn(LOSSES, name)) {
    return `algorithm.loss ${name} is none of Tinker's API; those it knows are ${Object.keys(LOSSES).join(', ')}`;
  }
  const config = LOSSES[name].config(options);
  return typeof config === 'string' ? `algorithm.loss ${name}: Tinker's API has no ${config}` : undefined;
}

function criticProblemOf({ name }: ComponentChoice): string | undefined {
  return name === 'value'
    ? undefined
    : `critic.loss ${name}: critics of Tinker's API learn by ppo_critic alone, which is value here`;
}

/** @throws TinkerError `request` */
export function chooseLoss(choice: ComponentChoice, role: LossModel = 'policy'): ChosenLoss {
  const isCritic = role === 'critic';
  const problem = isCritic ? criticProblemOf(choice) : problemOf(choice);
  if (problem !== undefined) throw new TinkerError('request', problem);
  const { name, ...options } = choice;
  const loss = isCritic ? VALUE : LOSSES[name];
  return {
    name: isCritic ? 'ppo_critic' : name,
    inputs: loss.inputs,
    config: loss.config(options) as Record<string, number>,
  };
}

/** A forward pass without training. */
export function forwardLoss(role: LossModel): ChosenLoss {
  return { name: role === 'critic' ? 'ppo_critic' : 'cross_entropy', inputs: {}, config: {} };
}

/** Why the service cannot train the run's critic. */
export function criticLossConflicts({ critic }: RunView): string[] {
  const problem = criticProblemOf(critic.loss as ComponentChoice);
  return problem === undefined ? [] : [problem];
}

/** Settings of a run file that the service does not support, one sentence each. */
export function lossConflicts({ algorithm }: RunView): string[] {
  const problem = problemOf(algorithm.loss as ComponentChoice);
  const added = (algorithm.regularizers as ComponentChoice[] | undefined) ?? [];
  return [
    ...(problem === undefined ? [] : [problem]),
    ...added.map(({ name }) => `algorithm.regularizers ${name}: Tinker's API adds nothing to a loss`),
  ];
}
