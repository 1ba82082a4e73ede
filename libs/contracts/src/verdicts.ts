import type { Trajectory } from './trajectory';

type Sums = Readonly<Record<string, number>>;

/** Prefix of sums and metrics: `verdict/<name>/<what>`. */
const PREFIX = 'verdict/';
const JUDGED = 'judged';
const SUCCESS = 'success';
/** Episodes that the verifier could judge, too. */
const COUNT = 'count';
const AGREEMENT = 'agreement';
const FALSE_POSITIVES = 'false_positives';
const FALSE_NEGATIVES = 'false_negatives';

/** Sums over episodes that compare the verdicts of rewards with the verifier's. */
export function verdictSums({ success, verdicts = {} }: Pick<Trajectory, 'success' | 'verdicts'>): Sums {
  const sums: Record<string, number> = {};
  for (const [name, verdict] of Object.entries(verdicts)) {
    const own = `${PREFIX}${name}/`;
    sums[own + JUDGED] = 1;
    sums[own + SUCCESS] = Number(verdict);
    if (typeof success !== 'boolean') continue;
    sums[own + COUNT] = 1;
    sums[own + AGREEMENT] = Number(verdict === success);
    sums[own + FALSE_POSITIVES] = Number(verdict && !success);
    sums[own + FALSE_NEGATIVES] = Number(!verdict && success);
  }
  return sums;
}

/** Agreement of each reward with the verifier, as metrics `env/all/verdict/<name>/…`; shares except for the count. */
export function verdictMetrics(sums: Sums): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const [key, judged] of Object.entries(sums)) {
    if (!key.startsWith(PREFIX) || !key.endsWith(`/${JUDGED}`)) continue;
    const own = key.slice(0, -JUDGED.length);
    const count = sums[own + COUNT] ?? 0;
    metrics[`env/all/${own}${SUCCESS}`] = sums[own + SUCCESS] / judged;
    metrics[`env/all/${own}${COUNT}`] = count;
    if (count === 0) continue;
    for (const what of [AGREEMENT, FALSE_POSITIVES, FALSE_NEGATIVES]) {
      metrics[`env/all/${own}${what}`] = sums[own + what] / count;
    }
  }
  return metrics;
}

/** Adds sums by name. */
export function addSums(all: readonly Sums[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const sums of all) {
    for (const [name, value] of Object.entries(sums)) total[name] = (total[name] ?? 0) + value;
  }
  return total;
}
