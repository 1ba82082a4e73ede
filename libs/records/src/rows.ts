import type {
  CheckpointEvent,
  EvaluationEvent,
  RolloutProgressEvent,
  RolloutStartedEvent,
  RunEvent,
  TrainedTokensEvent,
  TrainStepEvent,
  Trajectory,
} from '@ui-rl/contracts';
import type {
  CheckpointEntity,
  EvaluationEntity,
  EvaluationTaskEntity,
  EventEntity,
  RolloutStartEntity,
  StepEntity,
  TrainedEpisodeEntity,
  TrajectoryEntity,
  TurnEntity,
} from './entities';
import { faultsOf, reportedSuccess } from './course';
import { failedChecks } from './failed-checks';

/** An event with the key that makes recording it idempotent: its message id, or its sequence in the stream. */
export interface KeyedEvent {
  key: string;
  event: RunEvent;
}

// PostgreSQL accepts neither NUL nor a lone surrogate, and a sampled text may contain both.
// eslint-disable-next-line no-control-regex
const UNSTORABLE = /\u0000|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g;

/** The same data with characters that PostgreSQL cannot store replaced by U+FFFD. */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return value.replace(UNSTORABLE, '\uFFFD') as T;
  if (Array.isArray(value)) return value.map(storable) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [storable(key), storable(part)])) as T;
}

export function trajectoryRow(source: Trajectory): Omit<TrajectoryEntity, 'recordedAt'> {
  const { request, turns, ...rest } = source;
  return storable({
    id: request.rolloutId,
    runId: request.runId,
    purpose: request.purpose,
    groupId: request.groupId,
    groupIndex: request.groupIndex,
    evaluationId: request.evaluationId ?? null,
    taskId: request.task.id ?? request.task.description,
    description: request.task.description,
    status: rest.status,
    invalidReason: rest.invalidReason ?? null,
    success: rest.success ?? null,
    reward: rest.reward,
    rewards: rest.rewards,
    verdicts: rest.verdicts ?? null,
    failedChecks: failedChecks(source),
    environment: rest.environment ?? null,
    times: rest.times ?? null,
    verifier: rest.verifier ?? null,
    firstSuccess: rest.firstSuccess ?? null,
    reportedSuccess: reportedSuccess(source),
    ...faultsOf(source),
    turnCount: turns.length,
    tokenCount: turns.reduce((sum, turn) => sum + turn.tokenIds.length, 0),
    policyVersion: turns.at(-1)?.policyVersion ?? null,
    finalScreenshot: rest.finalScreenshot ?? null,
    initialState: rest.initialState ?? null,
    finalState: rest.finalState ?? null,
    request,
    actor: rest.actor,
    startedAt: rest.startedAt,
    finishedAt: rest.finishedAt,
  }) as unknown as Omit<TrajectoryEntity, 'recordedAt'>;
}

export function turnRows(source: Trajectory): TurnEntity[] {
  return source.turns.map((turn) => ({
    trajectoryId: storable(source.request.rolloutId),
    index: turn.index,
    promptTokenIds: turn.promptTokenIds,
    promptImages: turn.promptImages,
    imageTokens: turn.imageTokens,
    tokenIds: turn.tokenIds,
    logprobs: turn.logprobs,
    keptTokens: storable(turn.keptTokens ?? null),
    temperature: turn.temperature,
    policyVersion: turn.policyVersion,
    adapterDigest: turn.adapterDigest,
    policySpans: storable(turn.policySpans ?? null),
    screenshot: turn.screenshot,
    screenText: storable(turn.screenText ?? null),
    policyMs: turn.policyMs,
    envMs: turn.envMs,
    text: storable(turn.text),
    tokenTexts: storable(turn.tokenTexts ?? null),
    promptText: storable(turn.promptText ?? null),
    actions: storable(turn.actions),
    reward: turn.reward ?? null,
    rewards: storable(turn.rewards ?? null),
    parseError: storable(turn.parseError ?? null),
    outcome: storable(turn.outcome ?? null),
  }));
}

export function stepRow(key: string, event: TrainStepEvent): StepEntity {
  return storable({
    runId: event.runId,
    eventKey: key,
    step: event.step,
    at: event.at,
    metrics: event.metrics,
    rolloutIds: event.rolloutIds,
  }) as unknown as StepEntity;
}

export function trainedEpisodeRows({ runId, step, episodes }: TrainedTokensEvent): TrainedEpisodeEntity[] {
  return episodes.map(({ rolloutId, advantage, turns }) =>
    storable({ rolloutId, step, runId, advantage, turns }),
  );
}

export function evaluationRow(event: EvaluationEvent): EvaluationEntity {
  return storable({
    runId: event.runId,
    evaluationId: event.evaluationId,
    set: event.set,
    stage: event.stage,
    policyVersion: event.policyVersion,
    checkpoint: event.checkpoint,
    successRate: event.successRate,
    intervalLow: event.interval[0],
    intervalHigh: event.interval[1],
    episodes: event.episodes,
    invalid: event.invalid,
    at: event.at,
  }) as unknown as EvaluationEntity;
}

export function evaluationTaskRows(event: EvaluationEvent): EvaluationTaskEntity[] {
  const { runId, evaluationId, set } = event;
  return event.tasks.map((task) => storable({ runId, evaluationId, set, ...task }));
}

export function checkpointRow(event: CheckpointEvent): CheckpointEntity {
  const { runId, name, step, path, adapterDigest, at } = event;
  return storable({ runId, name, step, path, adapterDigest, at }) as unknown as CheckpointEntity;
}

export function rolloutStartRow(event: RolloutStartedEvent): RolloutStartEntity {
  const { rolloutId, runId, actor, at } = event;
  return storable({ rolloutId, runId, actor, at }) as unknown as RolloutStartEntity;
}

/** Columns of `rollout_starts`, one row per rollout. */
export function progressColumns({ actor, at, rollouts }: RolloutProgressEvent): unknown[][] {
  const rows = [...new Map(rollouts.map((each) => [each.rolloutId, storable(each)])).values()];
  return [
    rows.map(({ rolloutId }) => rolloutId),
    rows.map(() => actor),
    rows.map(({ since }) => since),
    rows.map(({ purpose }) => purpose),
    rows.map(({ task }) => task),
    rows.map(({ phase }) => phase),
    rows.map(({ turns }) => turns),
    rows.map(({ maxTurns }) => maxTurns),
    rows.map(() => at),
  ];
}

export function eventRow({ key, event }: KeyedEvent): EventEntity {
  return storable({
    runId: event.runId,
    eventKey: key,
    type: event.type,
    at: event.at,
    data: event,
  }) as unknown as EventEntity;
}
