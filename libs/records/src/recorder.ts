import {
  RUN_PHASES,
  type EvaluationEvent,
  type PhaseEvent,
  type RolloutProgressEvent,
  type RunCreatedEvent,
  type RunEvent,
  type Trajectory,
} from '@ui-rl/contracts';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral } from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity';
import {
  CheckpointEntity,
  EvaluationEntity,
  EvaluationTaskEntity,
  EventEntity,
  RolloutStartEntity,
  RunEntity,
  StepEntity,
  TrainedEpisodeEntity,
  TrajectoryEntity,
  TurnEntity,
} from './entities';
import {
  checkpointRow,
  evaluationRow,
  evaluationTaskRows,
  eventRow,
  type KeyedEvent,
  progressColumns,
  rolloutStartRow,
  stepRow,
  storable,
  trainedEpisodeRows,
  trajectoryRow,
  turnRows,
} from './rows';

/** Messages since the last batch. */
export interface RecordBatch {
  trajectories: readonly Trajectory[];
  events: readonly KeyedEvent[];
}

/** Rollout ids of new trajectories; the others were already recorded. */
export interface RecordedBatch {
  newTrajectories: string[];
}

/** Events with their own tables, which the log leaves out. */
const KEPT_APART: readonly RunEvent['type'][] = [
  ...(['train_step', 'trained_tokens', 'rollout_started', 'rollout_progress'] as const),
];

/** Rows per statement; PostgreSQL accepts at most 65,535 parameters. */
const CHUNK = 1_000;

/**
 * Writes a batch in one transaction. Idempotent: the rollout id, the event's key and the evaluation's id are unique
 * keys.
 */
export async function record(dataSource: DataSource, batch: RecordBatch): Promise<RecordedBatch> {
  return dataSource.transaction(async (manager) => {
    await ensureRuns(manager, batch);
    const newTrajectories = await recordTrajectories(manager, batch.trajectories);
    await recordEvents(manager, batch.events);
    return { newTrajectories };
  });
}

async function ensureRuns(manager: EntityManager, batch: RecordBatch): Promise<void> {
  const ids = new Set([
    ...batch.trajectories.map((trajectory) => trajectory.request.runId),
    ...batch.events.map(({ event }) => event.runId),
  ]);
  await insertNew(
    manager,
    RunEntity,
    [...ids].toSorted().map((id) => ({ id: storable(id) })),
  );
}

async function recordTrajectories(manager: EntityManager, all: readonly Trajectory[]): Promise<string[]> {
  const byId = new Map<string, Trajectory>();
  for (const trajectory of all) {
    if (!byId.has(trajectory.request.rolloutId)) byId.set(trajectory.request.rolloutId, trajectory);
  }
  const rows = [...byId.values()].map(trajectoryRow).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const fresh = new Set(await insertNew(manager, TrajectoryEntity, rows, 'id'));
  // Only turns of new trajectories, so that a second version of an episode cannot mix with the first.
  const turns = [...byId.values()].filter(({ request }) => fresh.has(request.rolloutId)).flatMap(turnRows);
  await insertNew(manager, TurnEntity, turns);
  return [...fresh];
}

async function recordEvents(manager: EntityManager, events: readonly KeyedEvent[]): Promise<void> {
  const of = <T extends RunEvent['type']>(type: T) =>
    events.filter(
      (item): item is { key: string; event: Extract<RunEvent, { type: T }> } => item.event.type === type,
    );
  await insertNew(
    manager,
    StepEntity,
    of('train_step').map(({ key, event }) => stepRow(key, event)),
  );
  await insertNew(
    manager,
    TrainedEpisodeEntity,
    of('trained_tokens').flatMap(({ event }) => trainedEpisodeRows(event)),
  );
  await insertNew(
    manager,
    CheckpointEntity,
    of('checkpoint').map(({ event }) => checkpointRow(event)),
  );
  await insertNew(
    manager,
    RolloutStartEntity,
    of('rollout_started').map(({ event }) => rolloutStartRow(event)),
  );
  for (const { event } of of('rollout_progress')) await setProgress(manager, event);
  for (const { event } of of('evaluation')) await recordEvaluation(manager, event);
  for (const { event } of of('run_created')) await describeRun(manager, event);
  for (const { event } of of('phase')) await setPhase(manager, event);
  const log = events.filter(({ event }) => !KEPT_APART.includes(event.type));
  await insertNew(manager, EventEntity, log.map(eventRow));
}

/** A redelivered older heartbeat does not replace a later one. */
async function setProgress(manager: EntityManager, event: RolloutProgressEvent): Promise<void> {
  await manager.query(
    `INSERT INTO rollout_starts
       (run_id, rollout_id, actor, at, purpose, task, phase, turns, max_turns, heartbeat_at)
     SELECT $1, * FROM unnest($2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
       $8::integer[], $9::integer[], $10::timestamptz[])
     ON CONFLICT (rollout_id) DO UPDATE SET actor = EXCLUDED.actor, purpose = EXCLUDED.purpose,
       task = EXCLUDED.task, phase = EXCLUDED.phase, turns = EXCLUDED.turns, max_turns = EXCLUDED.max_turns,
       heartbeat_at = EXCLUDED.heartbeat_at
     WHERE COALESCE(rollout_starts.heartbeat_at < EXCLUDED.heartbeat_at, true)`,
    [storable(event.runId), ...progressColumns(event)],
  );
}

async function recordEvaluation(manager: EntityManager, event: EvaluationEvent): Promise<void> {
  const fresh = await insertNew(manager, EvaluationEntity, [evaluationRow(event)], 'evaluation_id');
  if (fresh.length > 0) await insertNew(manager, EvaluationTaskEntity, evaluationTaskRows(event));
}

async function describeRun(manager: EntityManager, event: RunCreatedEvent): Promise<void> {
  const { config, configuration = null, at } = event;
  const changes = {
    config: storable(config),
    configuration: storable(configuration),
    createdAt: new Date(at),
  };
  await manager.update(RunEntity, { id: event.runId }, changes as QueryDeepPartialEntity<RunEntity>);
}

/**
 * A redelivered older phase does not replace the current one. A later phase always does, even if its writer's clock
 * is behind. An earlier phase is accepted if it is newer: the broker may have lost the end of a run.
 */
async function setPhase(manager: EntityManager, event: PhaseEvent): Promise<void> {
  await manager
    .createQueryBuilder()
    .update(RunEntity)
    .set({ phase: event.phase, phaseSince: new Date(event.at), phaseReason: storable(event.reason ?? null) })
    .where('id = :id AND (phase_since IS NULL OR phase_since <= :at OR phase = ANY(:earlier))', {
      id: event.runId,
      at: event.at,
      earlier: RUN_PHASES.slice(
        0,
        RUN_PHASES.findIndex((phase) => phase === event.phase),
      ),
    })
    .execute();
}

/** Inserts rows with new keys; returns `returning` of these. */
async function insertNew<T extends ObjectLiteral>(
  manager: EntityManager,
  target: EntityTarget<T>,
  rows: readonly object[],
  returning?: string,
): Promise<string[]> {
  const fresh: string[] = [];
  for (let start = 0; start < rows.length; start += CHUNK) {
    const statement = manager
      .createQueryBuilder()
      .insert()
      .into(target)
      .values(rows.slice(start, start + CHUNK))
      .updateEntity(false)
      .orIgnore();
    if (returning !== undefined) statement.returning(`"${returning}"`);
    const result = await statement.execute();
    if (returning !== undefined) {
      fresh.push(...(result.raw as Record<string, string>[]).map((row) => row[returning]));
    }
  }
  return fresh;
}
