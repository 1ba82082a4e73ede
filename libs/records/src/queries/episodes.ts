import type {
  PhaseTimes,
  PlayedEnvironment,
  Purpose,
  RolloutRequest,
  TrainedTurn,
  TrajectoryStatus,
} from '@ui-rl/contracts';
import type { DataSource } from 'typeorm';
import type { Faults } from '../course';
import { TurnEntity } from '../entities';
import type {
  EpisodeDetail,
  EpisodeFilter,
  EpisodePage,
  EpisodeSort,
  EpisodeSummary,
  GroupMember,
  StepDetail,
  StepGroup,
  TurnPrompt,
  TurnView,
} from '../views';
import { iso } from './values';

interface EpisodeRow {
  id: string;
  run_id: string;
  purpose: Purpose;
  group_id: string;
  evaluation_id: string | null;
  task_id: string;
  description: string;
  source: string | null;
  status: TrajectoryStatus;
  invalid_reason: string | null;
  success: boolean | null;
  reward: number;
  turn_count: number;
  token_count: number;
  policy_version: number | null;
  started_at: Date;
  finished_at: Date;
  thumbnail: string | null;
}

const COLUMNS = `
  t.id, t.run_id, t.purpose, t.group_id, t.evaluation_id, t.task_id, t.description,
  t.request #>> '{task,source}' AS source, t.status, t.invalid_reason, t.success, t.reward, t.turn_count,
  t.token_count, t.policy_version, t.started_at, t.finished_at,
  (SELECT u.screenshot FROM turns u WHERE u.trajectory_id = t.id AND u.index = 0) AS thumbnail`;

const LAST_SCREENSHOT = `COALESCE(t.final_screenshot,
  (SELECT u.screenshot FROM turns u WHERE u.trajectory_id = t.id ORDER BY u.index DESC LIMIT 1)) AS "lastScreenshot"`;

const MAX_PAGE = 200;

/** Episodes of a run, by default latest first. An invalid cursor counts as the start. */
export async function listEpisodes(dataSource: DataSource, filter: EpisodeFilter): Promise<EpisodePage> {
  const limit = Math.min(Math.max(filter.limit ?? 50, 1), MAX_PAGE);
  const { where, values, orderBy, place } = conditions(filter);
  const rows = await dataSource.query<(EpisodeRow & { place: string })[]>(
    `SELECT ${COLUMNS}, ${place} AS place FROM trajectories t WHERE ${where.join(' AND ')}
     ORDER BY ${orderBy} LIMIT ${limit + 1}`,
    values,
  );
  const episodes = rows.slice(0, limit).map(summary);
  return { episodes, cursor: cursorAfter(rows, limit) };
}

/** The cursor of the page after the first `limit` rows; null if there are no others. */
export function cursorAfter(rows: readonly { id: string; place: string }[], limit: number): string | null {
  if (rows.length <= limit) return null;
  const { place, id } = rows[limit - 1];
  return `${place}~${id}`;
}

const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;

interface Sort {
  by: string;
  type: string;
  /** Its value as text, for the cursor. */
  place: string;
  isPlace: (text: string) => boolean;
}

function numeric(by: string): Sort {
  return { by, type: 'float8', place: `(${by})::float8::text`, isPlace: (text) => NUMBER.test(text) };
}

const SORTS: Record<EpisodeSort, Sort> = {
  ended: {
    by: 't.finished_at',
    type: 'timestamptz',
    place: `to_char(t.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
    isPlace: (text) => /^\d{4}-[\dT:.-]+Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  },
  reward: numeric('t.reward'),
  turns: numeric('t.turn_count::float8'),
  tokens: numeric('t.token_count::float8'),
  duration: numeric('extract(epoch FROM t.finished_at - t.started_at)::float8'),
};

interface Conditions {
  where: string[];
  values: unknown[];
  orderBy: string;
  /** The place of a row in the order, as text. */
  place: string;
}

/** SQL conditions for the episodes `t` of a filter, and their order. */
export function conditions(filter: EpisodeFilter): Conditions {
  const where = ['t.run_id = $1'];
  const values: unknown[] = [filter.runId];
  const add = (condition: (placeholder: string) => string, value: unknown) => {
    values.push(value);
    where.push(condition(`$${values.length}`));
  };
  if (filter.purpose !== undefined) add((placeholder) => `t.purpose = ${placeholder}`, filter.purpose);
  if (filter.status !== undefined) add((placeholder) => `t.status = ${placeholder}`, filter.status);
  if (filter.success === 'unknown') where.push(`t.success IS NULL AND t.status <> 'invalid'`);
  else if (filter.success !== undefined)
    add((placeholder) => `t.success = ${placeholder}`, filter.success === 'yes');
  if (filter.taskId !== undefined) add((placeholder) => `t.task_id = ${placeholder}`, filter.taskId);
  if (filter.evaluation !== undefined)
    add((placeholder) => `t.evaluation_id = ${placeholder}`, filter.evaluation);
  if (filter.task !== undefined && filter.task !== '') {
    const pattern = `%${filter.task.replace(/[\\%_]/g, '\\$&')}%`;
    add((placeholder) => `(t.task_id ILIKE ${placeholder} OR t.description ILIKE ${placeholder})`, pattern);
  }
  if (filter.step !== undefined) {
    const trained = 'SELECT unnest(s.rollout_ids) FROM steps s WHERE s.run_id = $1';
    add((placeholder) => `t.id IN (${trained} AND s.step = ${placeholder})`, filter.step);
  }
  if (filter.failedCheck !== undefined)
    add((placeholder) => `t.failed_checks @> ARRAY[${placeholder}::text]`, filter.failedCheck);
  for (const [column, least, most] of [
    ['t.reward', filter.minReward, filter.maxReward],
    ['t.turn_count', filter.minTurns, filter.maxTurns],
    ['t.policy_version', filter.minVersion, filter.maxVersion],
  ] as const) {
    if (least !== undefined) add((placeholder) => `${column} >= ${placeholder}`, least);
    if (most !== undefined) add((placeholder) => `${column} <= ${placeholder}`, most);
  }
  if (filter.parseFailure !== undefined) {
    const failed = 'SELECT 1 FROM turns u WHERE u.trajectory_id = t.id AND u.parse_error IS NOT NULL';
    where.push(`${filter.parseFailure === 'no' ? 'NOT ' : ''}EXISTS (${failed})`);
  }
  const { by, type, place, isPlace } = SORTS[filter.sort ?? 'ended'];
  const isAscending = filter.order === 'asc';
  const [, from, id] = /^([^~]+)~(.+)$/.exec(filter.before ?? '') ?? [];
  if (from !== undefined && isPlace(from)) {
    values.push(from, id);
    const after = `($${values.length - 1}::${type}, $${values.length})`;
    where.push(`(${by}, t.id) ${isAscending ? '>' : '<'} ${after}`);
  }
  const direction = isAscending ? 'ASC' : 'DESC';
  return { where, values, orderBy: `${by} ${direction}, t.id ${direction}`, place };
}

function summary(row: EpisodeRow): EpisodeSummary {
  return {
    id: row.id,
    runId: row.run_id,
    purpose: row.purpose,
    groupId: row.group_id,
    evaluationId: row.evaluation_id,
    taskId: row.task_id,
    description: row.description,
    source: row.source,
    status: row.status,
    invalidReason: row.invalid_reason,
    success: row.success,
    reward: row.reward,
    turnCount: row.turn_count,
    tokenCount: row.token_count,
    policyVersion: row.policy_version,
    startedAt: iso(row.started_at),
    finishedAt: iso(row.finished_at),
    thumbnail: row.thumbnail,
  };
}

interface StepRow {
  at: Date;
  metrics: Record<string, number>;
  rollout_ids: string[];
  newest: number;
}

/** Null if the run has no such step. Groups and episodes are in the order of training. */
export async function findStep(
  dataSource: DataSource,
  runId: string,
  step: number,
): Promise<StepDetail | null> {
  const [row] = await dataSource.query<StepRow[]>(
    `SELECT at, metrics, rollout_ids, (SELECT max(step) FROM steps WHERE run_id = $1) AS newest
     FROM steps WHERE run_id = $1 AND step = $2 ORDER BY at DESC LIMIT 1`,
    [runId, step],
  );
  if (row === undefined) return null;
  const rows = await dataSource.query<(EpisodeRow & Pick<GroupMember, 'lastScreenshot' | 'advantage'>)[]>(
    `SELECT ${COLUMNS}, ${LAST_SCREENSHOT},
       (SELECT e.advantage FROM trained_episodes e WHERE e.rollout_id = t.id AND e.step = $3) AS advantage
     FROM trajectories t WHERE t.run_id = $1 AND t.id = ANY($2) ORDER BY array_position($2, t.id)`,
    [runId, row.rollout_ids, step],
  );
  const groups = new Map<string, StepGroup>();
  for (const { lastScreenshot, advantage, ...own } of rows) {
    const episode = { ...summary(own), lastScreenshot, advantage };
    const { groupId, description } = episode;
    const group = groups.get(groupId) ?? { groupId, description, episodes: [] };
    group.episodes.push(episode);
    groups.set(groupId, group);
  }
  const { at, metrics, newest, rollout_ids: trained } = row;
  const missing = trained.length - rows.length;
  return { runId, step, at: iso(at), metrics, newest, missing, groups: [...groups.values()] };
}

interface DetailRow extends EpisodeRow {
  rewards: Record<string, number>;
  verdicts: Record<string, boolean> | null;
  request: RolloutRequest;
  actor: string;
  final_screenshot: string | null;
  initial_state: Record<string, unknown> | null;
  final_state: Record<string, unknown> | null;
  environment: PlayedEnvironment | null;
  times: PhaseTimes | null;
  verifier: string | null;
  first_success: number | null;
  reported_success: boolean | null;
  faults: Faults;
  trained_in_step: number | null;
}

const FAULTS = `jsonb_build_object('parseErrors', t.parse_errors, 'toolErrors', t.tool_errors,
  'argumentErrors', t.argument_errors, 'runtimeErrors', t.runtime_errors, 'repeatedActions', t.repeated_actions)`;

/** Null if no such rollout is recorded. */
export async function findEpisode(dataSource: DataSource, id: string): Promise<EpisodeDetail | null> {
  const [row] = await dataSource.query<DetailRow[]>(
    `SELECT ${COLUMNS}, t.rewards, t.verdicts, t.request, t.actor, t.final_screenshot, t.initial_state, t.final_state,
       t.environment, t.phase_times AS times, t.verifier, t.first_success, t.reported_success, ${FAULTS} AS faults,
       (SELECT min(s.step) FROM steps s WHERE s.run_id = t.run_id AND t.id = ANY(s.rollout_ids)) AS trained_in_step
     FROM trajectories t WHERE t.id = $1`,
    [id],
  );
  if (row === undefined) return null;
  const trained = await trainingOf(dataSource, id);
  return {
    ...summary(row),
    rewards: row.rewards,
    verdicts: row.verdicts,
    request: row.request,
    actor: row.actor,
    finalScreenshot: row.final_screenshot,
    initialState: row.initial_state,
    finalState: row.final_state,
    environment: row.environment,
    times: row.times,
    verifier: row.verifier,
    firstSuccess: row.first_success,
    reportedSuccess: row.reported_success,
    faults: row.faults,
    trainedInStep: row.trained_in_step,
    advantage: trained?.advantage ?? null,
    group: await groupOf(dataSource, row),
    turns: await turnsOf(dataSource, id, trained?.turns ?? []),
  };
}

interface TrainedRow {
  advantage: number | null;
  turns: TrainedTurn[];
}

/** The numbers of the first step that trained on an episode. */
async function trainingOf(dataSource: DataSource, id: string): Promise<TrainedRow | undefined> {
  const [row] = await dataSource.query<TrainedRow[]>(
    'SELECT advantage, turns FROM trained_episodes WHERE rollout_id = $1 ORDER BY step LIMIT 1',
    [id],
  );
  return row;
}

/** Group ids are unique within a run; `group_index` is the place of the group. */
function groupOf(dataSource: DataSource, { run_id, group_id }: EpisodeRow): Promise<GroupMember[]> {
  return dataSource.query<GroupMember[]>(
    `SELECT t.id, t.status, t.success, t.reward, t.turn_count AS "turnCount", ${LAST_SCREENSHOT},
       (SELECT e.advantage FROM trained_episodes e WHERE e.rollout_id = t.id ORDER BY e.step LIMIT 1) AS advantage
     FROM trajectories t WHERE t.run_id = $1 AND t.group_id = $2
     ORDER BY (t.request ->> 'indexInGroup')::int, t.id LIMIT 1000`,
    [run_id, group_id],
  );
}

/** Null if no such turn is recorded. */
export async function findPrompt(
  dataSource: DataSource,
  id: string,
  turn: number,
): Promise<TurnPrompt | null> {
  const [row] = await dataSource.query<TurnPrompt[]>(
    `SELECT prompt_token_ids AS "tokenIds", prompt_images AS images, prompt_text AS text FROM turns
     WHERE trajectory_id = $1 AND index = $2`,
    [id, turn],
  );
  return row ?? null;
}

async function turnsOf(
  dataSource: DataSource,
  id: string,
  trained: readonly TrainedTurn[],
): Promise<TurnView[]> {
  const trainedAt = new Map(trained.map(({ index, ...numbers }) => [index, numbers]));
  const turns = await dataSource
    .getRepository(TurnEntity)
    .find({ where: { trajectoryId: id }, order: { index: 'ASC' } });
  return turns.map((entity) => {
    const { trajectoryId: _id, promptTokenIds, promptImages: _images, promptText: _text, ...turn } = entity;
    const { keptTokens: _kept, ...shown } = turn;
    return { ...shown, promptTokens: promptTokenIds.length, trained: trainedAt.get(turn.index) ?? null };
  });
}
