import type { ComponentChoice, LossInput, LossModel, RunView } from '@ui-rl/plugin-kit';
import { TinkerError } from './errors';

/** A loss of the project in the words of Tinker's API. */
interface TinkerLoss {
  /** Tinker's name of what a datum brings → the engine's. */
  inputs: Readonly<Record<string, LossInput>>;
  /** Options of the service; a text says which of the project's it lacks. */
  config(options: Readonly<Record<string, unknown>>): Record<string, number> | string;
}

const RATIO = { logprobs: 'old_logprobs', advantages: 'advantages' } as const;

/** Largest total variation of `dppo` unless a run file says otherwise; services have another one (SkyRL 0.2). */
const USUAL_DELTA = 0.15;

/** Those whose value belongs to a token. */
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

/** Services have a usual clip, and no word for none: squares of what is further apart are no float32. */
const NO_CLIP = 1e20;

/** That of critics. */
const VALUE: TinkerLoss = {
  inputs: { values: 'values', returns: 'returns' },
  config: ({ value_clip }) => ({ value_clip: Number(value_clip) || NO_CLIP }),
};

/** Losses of the API that mean something else there. */
const OTHERS: Readonly<Record<string, string>> = {
  gspo: 'has one ratio for each datum, which is a turn; here it is one for all turns of an episode',
};

export interface ChosenLoss {
  name: string;
  config: Record<string, number>;
  inputs: TinkerLoss['inputs'];
}

/** Why the service cannot be asked for a loss; undefined where it can. */
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

/** A forward pass, of which nothing is learned. */
export function forwardLoss(role: LossModel): ChosenLoss {
  return { name: role === 'critic' ? 'ppo_critic' : 'cross_entropy', inputs: {}, config: {} };
}

/** Why its critic cannot be trained by the service. */
export function criticLossConflicts({ critic }: RunView): string[] {
  const problem = criticProblemOf(critic.loss as ComponentChoice);
  return problem === undefined ? [] : [problem];
}

/** What of a run file the service lacks, one sentence each. */
export function lossConflicts({ algorithm }: RunView): string[] {
  const problem = problemOf(algorithm.loss as ComponentChoice);
  const added = (algorithm.regularizers as ComponentChoice[] | undefined) ?? [];
  return [
    ...(problem === undefined ? [] : [problem]),
    ...added.map(({ name }) => `algorithm.regularizers ${name}: Tinker's API adds nothing to a loss`),
  ];
}
