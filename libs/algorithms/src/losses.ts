import { ops, type Value } from '@ui-rl/graph';
import { AlgorithmError } from './errors';

export const POLICY_LOSSES = ['cross_entropy', 'importance_sampling', 'ppo'] as const;
export type PolicyLossName = (typeof POLICY_LOSSES)[number];

export interface PolicyLoss {
  name: PolicyLossName;
  /** `ppo`: the ratio is clipped to [1 − clipLow, 1 + clipHigh]; 0.2 each unless given, "clip-higher" is 0.28 above. */
  clipLow?: number;
  clipHigh?: number;
  /** `ppo`: dual clip c > 1; where A < 0 the loss does not exceed −c·A. Off unless given. */
  dualClip?: number;
}

export const DEFAULT_CLIP = 0.2;

/** What the losses are made of, per token; all [M] float32 in one graph. */
export interface TokenTerms {
  /** log π_θ of the sampled token. */
  logp: Value;
  /** log-probability under the policy that sampled it. */
  oldLogp: Value;
  advantage: Value;
  /** Weight of the token in the batch (see `tokenWeights`), 0 for padding. */
  weight: Value;
}

/** Refuses options that no loss accepts, or that the chosen one would ignore. */
export function checkPolicyLoss(loss: PolicyLoss): void {
  if (!POLICY_LOSSES.includes(loss.name)) {
    throw new AlgorithmError(
      'option',
      `loss "${loss.name}" is unknown, expected one of ${POLICY_LOSSES.join(', ')}`,
    );
  }
  const clips = { clipLow: loss.clipLow, clipHigh: loss.clipHigh, dualClip: loss.dualClip };
  for (const [option, value] of Object.entries(clips)) {
    if (value === undefined) continue;
    if (loss.name !== 'ppo') {
      throw new AlgorithmError(
        'option',
        `${option} is an option of loss "ppo", loss "${loss.name}" has no such option`,
      );
    }
    if (!(value > 0)) throw new AlgorithmError('option', `${option} is ${value}, expected a number above 0`);
  }
  if (loss.dualClip !== undefined && loss.dualClip <= 1) {
    throw new AlgorithmError('option', `dualClip is ${loss.dualClip}, expected a number above 1`);
  }
}

/** The scalar Σ weight · token loss, differentiable in `logp`. Formulas: see `tokenLoss` of the same names. */
export function policyLoss(loss: PolicyLoss, terms: TokenTerms): Value {
  checkPolicyLoss(loss);
  const perToken = tokenLoss(loss, terms);
  return ops.reduceSum(ops.mul(perToken, terms.weight), [0], false);
}

function tokenLoss(loss: PolicyLoss, terms: TokenTerms): Value {
  if (loss.name === 'cross_entropy') return ops.neg(terms.logp);
  const ratio = ops.exp(ops.sub(terms.logp, terms.oldLogp));
  if (loss.name === 'importance_sampling') return ops.neg(ops.mul(ratio, terms.advantage));
  return ppo(loss, ratio, terms.advantage);
}

/** −min(r·A, clip(r)·A); with a dual clip, min(that, −c·A) where A < 0 (Ye et al. 2020, eq. 5). */
function ppo(loss: PolicyLoss, ratio: Value, advantage: Value): Value {
  const { graph } = ratio;
  const number = (value: number): Value => ops.scalar(graph, value, 'float32');
  const low = number(1 - (loss.clipLow ?? DEFAULT_CLIP));
  const high = number(1 + (loss.clipHigh ?? DEFAULT_CLIP));
  const clipped = ops.max(ops.min(ratio, high), low);
  const objective = ops.min(ops.mul(ratio, advantage), ops.mul(clipped, advantage));
  const clippedLoss = ops.neg(objective);
  if (loss.dualClip === undefined) return clippedLoss;
  const bounded = ops.min(clippedLoss, ops.neg(ops.mul(number(loss.dualClip), advantage)));
  return ops.where(ops.less(advantage, number(0)), bounded, clippedLoss);
}
