/**
 * How a run's training spent its time, from the metrics of its steps. Shares range from 0 to 1; NaN if no step has
 * the metric.
 */
export interface RunProfile {
  steps: number;
  /** From the start of the first step to the end of the last one, including waits. */
  seconds: number;
  /** Number of episodes that were trained on. */
  episodes: number;
  episodesPerMinute: number;
  /** Shares of the trainer's time. */
  trainer: { waiting: number; training: number; checkpoint: number };
  /** Shares of the actors' slot time. */
  places: { free: number; policy: number; environment: number };
  /** Share of session time in which no action was requested. */
  sessionsIdle: number;
  /** Mean seconds per turn. */
  turn: { policy: number; environment: number };
  /** Groups per step that were excluded from the batch because all their episodes had the same reward. */
  groupsReplaced: number;
  /** Share of the trained groups whose episodes have different rewards. */
  groupsMixed: number;
}

/** The metrics of a step: name → value. */
export type StepMetrics = Readonly<Record<string, unknown>>;

/** The metrics that a profile reads. */
export const PROFILE_METRICS = [
  ...['time/total', 'time/waiting_for_episodes', 'time/train', 'time/checkpoint'],
  ...['time/policy_per_turn', 'time/env_per_turn', 'idle_ratio/actors', 'idle_ratio/environments'],
  ...['env/all/episodes', 'env/all/turns_per_episode'],
  ...['env/all/groups_replaced', 'env/all/by_group/frac_mixed'],
];

/** The profile of the steps that trained episodes they had waited for; null if there is none. */
export function profileOf(all: Iterable<StepMetrics>): RunProfile | null {
  const steps = [...all].filter((metrics) => numberOf(metrics, 'env/all/episodes') > 0);
  return steps.length === 0 ? null : profileOfPlayed(steps);
}

function profileOfPlayed(steps: readonly StepMetrics[]): RunProfile {
  const sum = (name: string): number =>
    steps.reduce((total, metrics) => total + (numberOf(metrics, name) || 0), 0);
  const seconds = sum('time/total');
  const episodes = sum('env/all/episodes');
  const turns = (metrics: StepMetrics): number =>
    numberOf(metrics, 'env/all/episodes') * numberOf(metrics, 'env/all/turns_per_episode');
  const turn = {
    policy: mean(steps, 'time/policy_per_turn', turns),
    environment: mean(steps, 'time/env_per_turn', turns),
  };
  const free = mean(steps, 'idle_ratio/actors', (metrics) => numberOf(metrics, 'time/total'));
  const busy = (1 - free) / (turn.policy + turn.environment);
  return {
    ...{ steps: steps.length, seconds, episodes, episodesPerMinute: (60 * episodes) / seconds },
    trainer: {
      waiting: sum('time/waiting_for_episodes') / seconds,
      training: sum('time/train') / seconds,
      checkpoint: sum('time/checkpoint') / seconds,
    },
    places: { free, policy: busy * turn.policy, environment: busy * turn.environment },
    sessionsIdle: mean(steps, 'idle_ratio/environments', (metrics) => numberOf(metrics, 'time/total')),
    turn,
    groupsReplaced: mean(steps, 'env/all/groups_replaced', () => 1),
    groupsMixed: mean(steps, 'env/all/by_group/frac_mixed', () => 1),
  };
}

/** Weighted mean; NaN if no step has the metric. */
function mean(
  steps: readonly StepMetrics[],
  name: string,
  weightOf: (metrics: StepMetrics) => number,
): number {
  let [total, weights] = [0, 0];
  for (const metrics of steps) {
    const value = numberOf(metrics, name);
    if (Number.isNaN(value)) continue;
    total += value * weightOf(metrics);
    weights += weightOf(metrics);
  }
  return total / weights;
}

function numberOf(metrics: StepMetrics, name: string): number {
  const value = metrics[name];
  return typeof value === 'number' ? value : NaN;
}
