import type { EvaluationEvent, PhaseEvent, TrainStepEvent, Trajectory } from '@ui-rl/contracts';

export const MODES = ['synchronous', 'asynchronous', 'in_flight'] as const;
export type Mode = (typeof MODES)[number];

/** Settings shared by all modes. */
export interface Setting {
  steps: number;
  /** Concurrent episodes. */
  sessions: number;
  groupsPerBatch: number;
  groupSize: number;
  /** Maximum steps off-policy of an asynchronous run. */
  bound: number;
  /** Additional delay of every action of the environment, in milliseconds. */
  latency: readonly [least: number, most: number];
}

/** One run, a line of the ledger. */
export interface Row extends Setting {
  mode: Mode;
  seed: number;
  commit: string;
  minutes: number;
  episodes: number;
  episodesPerMinute: number;
  /** Success rate of the final evaluation. */
  success: number;
  /** Means over steps. */
  idle: { actors: number; environments: number; learner: number };
  /** Trained tokens by the age of their policy in steps. */
  staleness: Record<string, number>;
  maskedTokens: number;
  stragglers: number;
}

/** The messages that a run published. */
export interface Published {
  steps: readonly TrainStepEvent[];
  phases: readonly PhaseEvent[];
  evaluations: readonly EvaluationEvent[];
  trajectories: readonly Trajectory[];
}

/** Groups of a run file. */
export function runFile(mode: Mode, seed: number, setting: Setting): Record<string, object> {
  const { steps, sessions, groupsPerBatch, groupSize, bound, latency } = setting;
  const asynchronous = { max_steps_off_policy: bound, in_flight_updates: mode === 'in_flight' };
  return {
    model: { name: 'small', lora: { rank: 16, alpha: 32 }, max_sequence: 512 },
    engine: { name: 'local', threads: 2 },
    tasks: { source_type: 'far_training', limit: 52 },
    environment: {
      max_sessions: sessions,
      kind: { name: 'far', least_ms: latency[0], most_ms: latency[1] },
    },
    rollout: { group_size: groupSize, concurrency: sessions, max_tokens: 24, max_turns: 12 },
    rewards: ['task-success'],
    algorithm: { advantage: 'dr_grpo', loss: 'importance_sampling', correction: 'tis' },
    async: mode === 'synchronous' ? { max_steps_off_policy: 0 } : asynchronous,
    training: {
      groups_per_batch: groupsPerBatch,
      max_steps: steps,
      learning_rate: 5e-4,
      schedule: 'linear',
      save_every: 0,
      seed,
    },
    evaluation: { baseline: false, episodes_per_task: 4, temperature: 1, sets: ['train_goals'] },
  };
}

/** @throws Error if the run deviates from its settings, or trained a token beyond the bound */
export function measured(
  { steps, phases, evaluations, trajectories }: Published,
  setting: Setting,
  bound: number,
): Omit<Row, keyof Setting | 'mode' | 'seed' | 'commit'> {
  const minutes = (at(phases, 'final_eval') - at(phases, 'training')) / 60_000;
  const final = evaluations.find(({ stage }) => stage === 'final');
  if (typeof final?.successRate !== 'number') throw new Error('the run has no final success rate');
  const tokens = tokensByAge(steps, trajectories);
  const trained = tokens.filter(({ age }) => age <= bound);
  const masked = tokens.length - trained.length;
  const told = sum(steps, 'async/tokens_masked');
  if (masked > told)
    throw new Error(`${masked} tokens of trained episodes are beyond the bound, ${told} were masked`);
  const oldest = Math.max(...steps.map(({ metrics }) => metrics['async/steps_off_policy_max'] ?? 0));
  if (oldest > bound)
    throw new Error(`a token was trained ${oldest} steps off-policy, the bound is ${bound}`);
  const episodes = steps.length * setting.groupsPerBatch * setting.groupSize;
  return {
    minutes,
    episodes,
    episodesPerMinute: episodes / minutes,
    success: final.successRate,
    idle: {
      actors: mean(steps, 'idle_ratio/actors'),
      environments: mean(steps, 'idle_ratio/environments'),
      learner: mean(steps, 'idle_ratio/learner'),
    },
    staleness: counted(trained.map(({ age }) => age)),
    maskedTokens: told,
    stragglers: sum(steps, 'async/stragglers'),
  };
}

/**
 * Every token of trained episodes, by the age of its policy when it was trained, computed from the episodes
 * themselves.
 */
function tokensByAge(
  steps: readonly TrainStepEvent[],
  trajectories: readonly Trajectory[],
): { age: number }[] {
  const byId = new Map(trajectories.map((trajectory) => [trajectory.request.rolloutId, trajectory]));
  return steps.flatMap(({ step, rolloutIds }) =>
    rolloutIds
      .flatMap((id) => byId.get(id)?.turns ?? [])
      .flatMap((turn) => turn.policySpans ?? [{ version: turn.policyVersion, tokens: turn.tokenIds.length }])
      .flatMap(({ version, tokens }) => Array.from({ length: tokens }, () => ({ age: step - 1 - version }))),
  );
}

function counted(ages: readonly number[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const age of ages) counts[age] = (counts[age] ?? 0) + 1;
  return counts;
}

function at(phases: readonly PhaseEvent[], phase: string): number {
  const event = phases.find((each) => each.phase === phase);
  if (event === undefined) throw new Error(`the run never was in phase ${phase}`);
  return Date.parse(event.at);
}

function sum(steps: readonly TrainStepEvent[], name: string): number {
  return steps.reduce((total, { metrics }) => total + (metrics[name] ?? 0), 0);
}

function mean(steps: readonly TrainStepEvent[], name: string): number {
  const values = steps.flatMap(({ metrics }) => metrics[name] ?? []);
  return values.reduce((total, value) => total + value, 0) / values.length;
}

/** Means by mode, and the speedup over synchronous. */
export function table(rows: readonly Row[]): string {
  const ofMode = (mode: Mode): Row[] => rows.filter((row) => row.mode === mode);
  const average = (own: readonly Row[], of: (row: Row) => number): number =>
    own.reduce((total, row) => total + of(row), 0) / own.length;
  const base = average(ofMode('synchronous'), (row) => row.episodesPerMinute);
  const lines = MODES.filter((mode) => ofMode(mode).length > 0).map((mode) => {
    const own = ofMode(mode);
    const speed = average(own, (row) => row.episodesPerMinute);
    const idle = (['actors', 'environments', 'learner'] as const).map((part) =>
      average(own, (row) => row.idle[part]).toFixed(2),
    );
    const success = own.map((row) => `${(100 * row.success).toFixed(0)} %`).join(', ');
    const factor = Number.isNaN(base) ? '' : `${(speed / base).toFixed(2)}×`;
    return `| ${[mode, own.length, speed.toFixed(0), factor, success, ...idle].join(' | ')} |`;
  });
  const head = 'mode | runs | episodes/min | faster | final success | idle: actors | environments | learner';
  return [`| ${head} |`, `|${'---|'.repeat(8)}`, ...lines].join('\n');
}
