import type { Trajectory } from './trajectory';

type Sums = Readonly<Record<string, number>>;

/** Of sums and metrics: `verdict/<name>/<what>`. */
const PREFIX = 'verdict/';
const JUDGED = 'judged';
const SUCCESS = 'success';
/** Episodes that the verifier could judge, too. */
const COUNT = 'count';
const AGREEMENT = 'agreement';
const FALSE_POSITIVES = 'false_positives';
const FALSE_NEGATIVES = 'false_negatives';

/** What is added up over episodes to compare rewards that judge by themselves with the verifier. */
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

/** How far each of them can be trusted, as metrics `env/all/verdict/<name>/…`; shares but for the count. */
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

/** Adds sums up by name. */
export function addSums(all: readonly Sums[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const sums of all) {
    for (const [name, value] of Object.entries(sums)) total[name] = (total[name] ?? 0) + value;
  }
  return total;
}
