import { mean } from '@ui-rl/algorithms';
import type { PolicySpan, Trajectory, Turn } from '@ui-rl/contracts';
import type { Group } from '../episodes/groups';

/** The age limit of a step's training data. */
export interface StalenessBound {
  /** Current policy version. */
  step: number;
  /** Maximum number of steps between the policy of a trained token and the current one. */
  maxStepsOffPolicy: number;
}

/** Which policies sampled the tokens of a turn, in order. */
export function spansOf({
  policySpans,
  policyVersion,
  adapterDigest,
  tokenIds,
}: Turn): readonly PolicySpan[] {
  return policySpans ?? [{ version: policyVersion, digest: adapterDigest, tokens: tokenIds.length }];
}

/** Describes the fault in a turn's spans; undefined if there is none. */
export function spanDefect(turn: Turn): string | undefined {
  const { tokenIds, policyVersion, adapterDigest, policySpans } = turn;
  if (policySpans === undefined) return undefined;
  const told = policySpans.reduce((sum, { tokens }) => sum + tokens, 0);
  if (told !== tokenIds.length) return `has ${tokenIds.length} tokens but spans of ${told}`;
  const backwards = policySpans.findIndex(
    ({ version }, at) => at > 0 && version < policySpans[at - 1].version,
  );
  if (backwards > 0) {
    return `has a span of policy ${policySpans[backwards].version} after one of ${policySpans[backwards - 1].version}`;
  }
  const [first] = policySpans;
  return first?.version === policyVersion && first.digest === adapterDigest
    ? undefined
    : `is said to be of policy ${policyVersion}, but its first span is not`;
}

/** [T] the policy version that sampled each token. */
export function versionsOf(turn: Turn): number[] {
  return spansOf(turn).flatMap(({ version, tokens }) => new Array<number>(tokens).fill(version));
}

/** [T] whether each token of a turn may be trained on. */
export function isWithin(turn: Turn, { step, maxStepsOffPolicy }: StalenessBound): boolean[] {
  return versionsOf(turn).map((version) => step - version <= maxStepsOffPolicy);
}

/** The oldest policy that sampled a token of the group; `Number.MAX_SAFE_INTEGER` if it has no tokens. */
export function oldestVersion(group: Group): number {
  const versions = turnsOf(group.trajectories).map((turn) => spansOf(turn)[0].version);
  return versions.reduce((oldest, version) => Math.min(oldest, version), Number.MAX_SAFE_INTEGER);
}

/** Whether a group has tokens, none of which may be trained on any more. */
export function isTooOld(group: Group, { step, maxStepsOffPolicy }: StalenessBound): boolean {
  const turns = turnsOf(group.trajectories);
  return turns.length > 0 && turns.every((turn) => step - spansOf(turn).at(-1)!.version > maxStepsOffPolicy);
}

export function tokensOf(group: Group): number {
  return turnsOf(group.trajectories).reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
}

/** @throws Error if a token of the turn beyond the limit would be trained on */
export function assertWithin(turn: Turn, weights: Float32Array, bound: StalenessBound): void {
  const within = isWithin(turn, bound);
  const beyond = weights.findIndex((weight, token) => weight !== 0 && !within[token]);
  if (beyond < 0) return;
  throw new Error(
    `token ${beyond} of turn ${turn.index} is of policy ${versionsOf(turn)[beyond]} and would be trained in step ${bound.step}: ` +
      `more than ${bound.maxStepsOffPolicy} behind`,
  );
}

/** Ages of a batch's tokens. Those beyond the limit are not trained on. */
export function stalenessMetrics(groups: readonly Group[], bound: StalenessBound): Record<string, number> {
  const versions = groups.flatMap((group) => turnsOf(group.trajectories)).flatMap(versionsOf);
  if (versions.length === 0) return {};
  const ages = versions.map((version) => bound.step - version);
  const trained = ages.filter((age) => age <= bound.maxStepsOffPolicy);
  const [newest, oldest] = versions.reduce(
    ([high, low], version) => [Math.max(high, version), Math.min(low, version)],
    [-Infinity, Infinity],
  );
  return {
    'sampling_client/step_min': oldest,
    'sampling_client/step_max': newest,
    'sampling_client/step_mean': mean(versions),
    'async/tokens_masked': ages.length - trained.length,
    ...histogram(trained),
  };
}

/** Shares of trained tokens by the age of their policy in steps. */
function histogram(ages: readonly number[]): Record<string, number> {
  const counts = new Map<number, number>();
  for (const age of ages) counts.set(age, (counts.get(age) ?? 0) + 1);
  const known = [...counts].toSorted(([a], [b]) => a - b);
  if (known.length === 0) return {};
  return {
    'async/steps_off_policy_max': known.at(-1)![0],
    'async/steps_off_policy_mean': mean(ages),
    ...Object.fromEntries(known.map(([age, count]) => [`async/staleness/${age}`, count / ages.length])),
  };
}

function turnsOf(trajectories: readonly Trajectory[]): Turn[] {
  return trajectories.flatMap(({ turns }) => turns).filter(({ tokenIds }) => tokenIds.length > 0);
}
