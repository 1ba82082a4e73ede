import { AlgorithmError } from './errors';

/** `grpo`: centred and scaled by the group's spread. `dr_grpo`: centred only. */
export const ADVANTAGES = ['grpo', 'dr_grpo'] as const;
export type AdvantageKind = (typeof ADVANTAGES)[number];

const STD_EPSILON = 1e-6;
const EQUAL = 1e-9;

export function mean(values: readonly number[]): number {
  let sum = 0;
  for (const value of values) sum += value;
  return values.length === 0 ? 0 : sum / values.length;
}

/** Sample standard deviation (n − 1), 0 for fewer than two values: what `torch.std` computes in verl and TRL. */
export function standardDeviation(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  let squares = 0;
  for (const value of values) squares += (value - centre) ** 2;
  return Math.sqrt(squares / (values.length - 1));
}

/** Whether the episodes of a group differ in reward at all; a group without signal has advantages of 0. */
export function hasRewardSpread(rewards_G: readonly number[]): boolean {
  return rewards_G.some((reward) => Math.abs(reward - rewards_G[0]) > EQUAL);
}

/**
 * One advantage per episode of a group.
 * `grpo`: (R − mean) / (std + 1e-6), DeepSeekMath eq. 3; `dr_grpo`: R − mean, "Understanding R1-Zero-like Training".
 * Invalid episodes must have been left out by the caller: they belong neither to the baseline nor to the loss.
 */
export function groupAdvantages(rewards_G: readonly number[], kind: AdvantageKind): number[] {
  const bad = rewards_G.findIndex((reward) => !Number.isFinite(reward));
  if (bad >= 0) {
    throw new AlgorithmError(
      'shape',
      `reward ${bad} of the group is ${rewards_G[bad]}, expected a finite number`,
    );
  }
  if (!hasRewardSpread(rewards_G)) return rewards_G.map(() => 0);
  const centre = mean(rewards_G);
  const scale = kind === 'grpo' ? standardDeviation(rewards_G) + STD_EPSILON : 1;
  return rewards_G.map((reward) => (reward - centre) / scale);
}
