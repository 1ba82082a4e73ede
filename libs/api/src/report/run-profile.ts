import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { percent } from './intervals';

/** The file that the `jsonl` tracker writes into the folder of a run. */
const METRICS_FILE = 'metrics.jsonl';

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

/** A line of metrics: name → value. */
type StepMetrics = Readonly<Record<string, unknown>>;

/**
 * @param path folder of a run, or the `metrics.jsonl` in it
 * @throws Error if the file is missing or has no step of reinforcement learning
 */
export async function readProfile(path: string): Promise<RunProfile> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  const file = isFolder ? join(path, METRICS_FILE) : path;
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const expected = `expected the folder of a run whose tracker is jsonl, or its ${METRICS_FILE}`;
    throw new Error(`${file} cannot be read: ${expected}`, { cause });
  });
  // Steps repeated after a restart occur twice; the last entry is valid.
  const steps = new Map<unknown, StepMetrics>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line === '') continue;
    const metrics = parsed(line, `${file}, line ${index + 1}`);
    steps.set(metrics.step, metrics);
  }
  const played = [...steps.values()].filter((metrics) => numberOf(metrics, 'env/all/episodes') > 0);
  if (played.length === 0) throw new Error(`${file} has no step that trained episodes it had waited for`);
  return profileOf(played);
}

export function profileOf(steps: readonly StepMetrics[]): RunProfile {
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

/** One line per quantity, one column per run. */
export function profileText(profiles: readonly (RunProfile & { name: string })[]): string {
  const rows: [string, (profile: RunProfile) => string][] = [
    ['steps', ({ steps }) => String(steps)],
    ['minutes of training', ({ seconds }) => (seconds / 60).toFixed(1)],
    ['trained episodes', ({ episodes }) => String(episodes)],
    ['  a minute', ({ episodesPerMinute }) => episodesPerMinute.toFixed(0)],
    ['trainer: waits for episodes', ({ trainer }) => percent(trainer.waiting)],
    ['  trains', ({ trainer }) => percent(trainer.training)],
    ['  saves and serves weights', ({ trainer }) => percent(trainer.checkpoint)],
    ['places for episodes: free', ({ places }) => percent(places.free)],
    ['  wait for the policy', ({ places }) => percent(places.policy)],
    ['  wait for the environment', ({ places }) => percent(places.environment)],
    ['sessions: nothing asked of them', ({ sessionsIdle }) => percent(sessionsIdle)],
    ['a turn: policy, ms', ({ turn }) => (1000 * turn.policy).toFixed(0)],
    ['  environment, ms', ({ turn }) => (1000 * turn.environment).toFixed(0)],
    ['groups a step: replaced, nothing to learn', ({ groupsReplaced }) => groupsReplaced.toFixed(1)],
    ['  trained ones that have a signal', ({ groupsMixed }) => percent(groupsMixed)],
  ];
  const cells = [
    ['', ...profiles.map(({ name }) => name)],
    ...rows.map(([label, of]) => [label, ...profiles.map((profile) => of(profile).replace(/^NaN.*/, '–'))]),
  ];
  const widths = cells[0].map((_, column) => Math.max(...cells.map((row) => row[column].length)));
  const padded = (cell: string, column: number): string =>
    column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column]);
  return cells.map((row) => row.map(padded).join('  ').trimEnd()).join('\n');
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

function parsed(line: string, where: string): StepMetrics {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value as StepMetrics;
  } catch {
    // Reported below.
  }
  throw new Error(`${where} is not an object of metrics`);
}
