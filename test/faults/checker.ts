import type { BusService } from '@ui-rl/bus';
import { type EvaluationEvent, LoaderState, runKeys, type TrainStepEvent } from '@ui-rl/contracts';
import type { Database } from '@ui-rl/records';
import {
  firstAttempt,
  firstAttempts,
  miscounted,
  mistrained,
  type RecordedEpisode,
  recordedEpisodes,
} from '../e2e/support/accounting';
import type { RunLog } from '../e2e/support/run-log';

/** The size of a run. */
export interface RunSize {
  /** Episodes of each evaluation. */
  evaluated: number;
  groupsPerBatch: number;
  groupSize: number;
  steps: number;
}

const PHASES = ['baseline', 'training', 'final_eval', 'finished'];

/** The default of `rollout.max_attempts`. */
const MAX_ATTEMPTS = 3;

/** The stored results of a run. */
export interface Remains {
  runId: string;
  /** Training groups, as counted by the task-loader. */
  groupsReleased: number;
  published: readonly RecordedEpisode[];
  recorded: readonly RecordedEpisode[];
  phases: readonly string[];
  steps: readonly TrainStepEvent[];
  /** Steps of the announced checkpoints. */
  checkpoints: readonly number[];
  evaluations: readonly Pick<EvaluationEvent, 'stage' | 'episodes' | 'invalid'>[];
}

/** Reads the broker's streams and buckets, and the database. */
export async function remainsOf(log: RunLog, bus: BusService, database: Database): Promise<Remains> {
  const { runId, steps } = log;
  const loader = await bus.runsBucket.get(runKeys.loader(runId), LoaderState);
  return {
    runId,
    steps,
    groupsReleased: loader?.value.groupsReleased ?? 0,
    published: log.trajectories.map(({ request, status, invalidReason = null, reward }) => ({
      ...{ id: request.rolloutId, purpose: request.purpose, status, invalidReason, reward },
    })),
    recorded: await recordedEpisodes(database, runId),
    phases: log.events('phase').map(({ phase }) => phase),
    checkpoints: log.events('checkpoint').map(({ step }) => step),
    evaluations: log.events('evaluation'),
  };
}

/**
 * Violated invariants of an ended run, which must hold under any faults: phases in order, once each; every released
 * episode counted once, as valid, as invalid and retried, or as finally invalid; every valid one trained once; an
 * abandoned group replaced; steps in order; one lineage of checkpoints; evaluations with all their episodes; the
 * database with all of this.
 */
export function problemsOf(remains: Remains, size: RunSize): string[] {
  const { runId, groupsReleased, published, steps } = remains;
  const released = firstAttempts(runId, { ...size, groups: groupsReleased });
  return [
    ...phaseProblems(remains),
    ...doubled(published.map(({ id }) => `trajectory ${id}`)),
    ...miscounted(published, released, mayFailOf(remains)),
    ...mistrained(published, steps),
    ...groupProblems(remains, size),
    ...lineageProblems(remains, size),
    ...evaluationProblems(remains, size),
    ...recordProblems(remains),
  ];
}

/** An episode may fail finally after the maximum number of attempts, or if its group was abandoned. */
function mayFailOf({ steps }: Remains): (id: string, tries: number) => boolean {
  const trained = new Set(steps.flatMap(({ rolloutIds }) => rolloutIds.map(groupOf)));
  return (id, tries) => {
    const group = groupOf(id);
    return tries >= MAX_ATTEMPTS || (group !== null && !trained.has(group));
  };
}

function groupOf(rolloutId: string): string | null {
  return /-(g\d{6})-r\d+/.exec(rolloutId)?.[1] ?? null;
}

function phaseProblems({ phases }: Remains): string[] {
  return phases.join() === PHASES.join() ? [] : [`phases were ${phases.join()}`];
}

/** Each step has all of its groups, so an abandoned one was replaced. */
function groupProblems(remains: Remains, { steps, groupsPerBatch }: RunSize): string[] {
  const problems = remains.steps.flatMap(({ step, rolloutIds }) => {
    const groups = new Set(rolloutIds.map(groupOf)).size;
    return groups === groupsPerBatch ? [] : [`step ${step} trained ${groups} groups`];
  });
  const found = remains.steps.length;
  return found === steps ? problems : [...problems, `${found} steps were trained`];
}

/** One checkpoint after each step, each announced once. */
function lineageProblems({ checkpoints }: Remains, { steps }: RunSize): string[] {
  const expected = Array.from({ length: steps + 1 }, (_, step) => step);
  return checkpoints.join() === expected.join()
    ? []
    : [`checkpoints were announced of steps ${checkpoints.join()}`];
}

function evaluationProblems({ runId, evaluations, published }: Remains, { evaluated }: RunSize): string[] {
  const found = evaluations.map(({ stage, episodes, invalid }) => `${stage} ${invalid} of ${episodes}`);
  const expected = ['baseline', 'final'].map((stage) => {
    const valid = published.filter(
      ({ id, status }) => id.startsWith(`${runId}-${stage}-`) && status !== 'invalid',
    );
    return `${stage} ${evaluated - new Set(valid.map(({ id }) => firstAttempt(id))).size} of ${evaluated}`;
  });
  return found.join() === expected.join()
    ? []
    : [`invalid in evaluations: ${found.join()}, published: ${expected.join()}`];
}

/** Differences between the database and the streams. */
function recordProblems({ published, recorded }: Remains): string[] {
  const lines = (episodes: readonly RecordedEpisode[]) =>
    episodes.map(({ id, status, reward }) => `${id} ${status} ${reward}`);
  const [there, here] = [lines(published), lines(recorded)];
  return [
    ...there.filter((line) => !here.includes(line)).map((line) => `the database lacks ${line}`),
    ...here.filter((line) => !there.includes(line)).map((line) => `only the database has ${line}`),
    ...doubled(here.map((line) => `in the database, ${line}`)),
  ];
}

function doubled(names: readonly string[]): string[] {
  return names.filter((name, place) => names.indexOf(name) !== place).map((name) => `${name} is there twice`);
}
