import type { TrainStepEvent } from '@ui-rl/contracts';
import type { Database } from '@ui-rl/records';

/** An episode as recorded in the database. */
export interface RecordedEpisode {
  id: string;
  purpose: string;
  status: string;
  invalidReason: string | null;
  reward: number;
}

export async function recordedEpisodes(database: Database, runId: string): Promise<RecordedEpisode[]> {
  return database.dataSource.query<RecordedEpisode[]>(
    `SELECT id, purpose, status, invalid_reason AS "invalidReason", reward
     FROM trajectories WHERE run_id = $1 ORDER BY id`,
    [runId],
  );
}

/** Rollout ids of the first attempts that a run requests. */
export function firstAttempts(
  runId: string,
  run: { evaluated: number; groups: number; groupSize: number },
): string[] {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);
  const padded = (index: number, width: number) => String(index).padStart(width, '0');
  const evaluation = (stage: string) =>
    numbers(run.evaluated).map((place) => `${runId}-${stage}-train_goals-${padded(place, 4)}-r0`);
  const groups = numbers(run.groups).flatMap((group) =>
    numbers(run.groupSize).map((place) => `${runId}-g${padded(group, 6)}-r${place}`),
  );
  return [...evaluation('baseline'), ...evaluation('final'), ...groups].toSorted();
}

/** The id of an episode's first attempt. */
export function firstAttempt(rolloutId: string): string {
  return rolloutId.replace(/-a\d+$/, '');
}

/**
 * Problems in the accounting of a run's episodes: losses, duplicates, unexplained failures, missing replacements.
 * @param mayFail whether an episode may end without a valid attempt, by its id and number of attempts; by default
 * none may
 */
export function miscounted(
  episodes: readonly RecordedEpisode[],
  requested: readonly string[],
  mayFail: (id: string, tries: number) => boolean = () => false,
): string[] {
  const problems: string[] = [];
  const tries = new Map<string, RecordedEpisode[]>();
  for (const episode of episodes) {
    const id = firstAttempt(episode.id);
    tries.set(id, [...(tries.get(id) ?? []), episode]);
  }
  for (const id of requested) if (!tries.has(id)) problems.push(`${id} is lost`);
  for (const [id, found] of tries) {
    if (!requested.includes(id)) problems.push(`${id} was not requested`);
    const valid = found.filter(({ status }) => status !== 'invalid');
    const failed = valid.length === 0 && mayFail(id, found.length);
    if (valid.length !== 1 && !failed) problems.push(`${id} has ${valid.length} valid episodes`);
    const expected = found.map((_, attempt) => (attempt === 0 ? id : `${id}-a${attempt}`));
    const present = found.map((episode) => episode.id).toSorted();
    if (present.join() !== expected.toSorted().join()) problems.push(`${id} was tried as ${present.join()}`);
  }
  for (const { id, status, invalidReason } of episodes) {
    if (status === 'invalid' && !invalidReason) problems.push(`${id} is invalid without a reason`);
  }
  return problems;
}

/**
 * Problems in the training: every valid training episode must be trained exactly once, steps must be in order, and
 * each must be published once.
 */
export function mistrained(episodes: readonly RecordedEpisode[], steps: readonly TrainStepEvent[]): string[] {
  const problems: string[] = [];
  const order = steps.map(({ step }) => step).join();
  const expected = steps.map((_, index) => index + 1).join();
  if (order !== expected) problems.push(`steps were published as ${order}`);
  const trained = steps.flatMap(({ rolloutIds }) => rolloutIds);
  const times = (id: string) => trained.filter((other) => other === id).length;
  for (const { id, purpose, status } of episodes) {
    const expected = purpose === 'train' && status !== 'invalid' ? 1 : 0;
    if (times(id) !== expected) problems.push(`${id} (${status}) was trained ${times(id)} times`);
  }
  for (const id of trained) {
    if (!episodes.some((episode) => episode.id === id))
      problems.push(`${id} was trained, but is not recorded`);
  }
  return problems;
}
