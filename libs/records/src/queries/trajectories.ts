import type { RolloutRequest, Trajectory, TrajectoryStatus, Turn } from '@ui-rl/contracts';
import type { DataSource } from 'typeorm';
import { TurnEntity } from '../entities';
import type { EpisodeFilter, TrajectoryPage } from '../views';
import { conditions, cursorAfter } from './episodes';
import { iso } from './values';

interface TrajectoryRow {
  id: string;
  request: RolloutRequest;
  status: TrajectoryStatus;
  invalid_reason: string | null;
  success: boolean | null;
  reward: number;
  rewards: Record<string, number>;
  verdicts: Record<string, boolean> | null;
  final_screenshot: string | null;
  initial_state: Record<string, unknown> | null;
  final_state: Record<string, unknown> | null;
  environment: Trajectory['environment'] | null;
  times: Trajectory['times'] | null;
  verifier: string | null;
  first_success: number | null;
  actor: string;
  started_at: Date;
  finished_at: Date;
}

const MAX_PAGE = 50;

/** Episodes of a run as published, including tokens, by default latest first. An invalid cursor counts as the start. */
export async function listTrajectories(
  dataSource: DataSource,
  filter: EpisodeFilter,
): Promise<TrajectoryPage> {
  const limit = Math.min(Math.max(filter.limit ?? MAX_PAGE, 1), MAX_PAGE);
  const { where, values, orderBy, place } = conditions(filter);
  const rows = await dataSource.query<(TrajectoryRow & { place: string })[]>(
    `SELECT t.id, t.request, t.status, t.invalid_reason, t.success, t.reward, t.rewards, t.verdicts, t.final_screenshot, t.initial_state,
       t.final_state, t.environment, t.phase_times AS times, t.verifier, t.first_success, t.actor, t.started_at, t.finished_at, ${place} AS place
     FROM trajectories t WHERE ${where.join(' AND ')}
     ORDER BY ${orderBy} LIMIT ${limit + 1}`,
    values,
  );
  const page = rows.slice(0, limit);
  const turns = await turnsOf(
    dataSource,
    page.map(({ id }) => id),
  );
  return {
    trajectories: page.map((row) => trajectoryOf(row, turns.get(row.id) ?? [])),
    cursor: cursorAfter(rows, limit),
  };
}

async function turnsOf(dataSource: DataSource, ids: readonly string[]): Promise<Map<string, Turn[]>> {
  const byEpisode = new Map<string, Turn[]>();
  const rows = await dataSource
    .getRepository(TurnEntity)
    .createQueryBuilder('turn')
    .where('turn.trajectory_id = ANY(:ids)', { ids })
    .orderBy('turn.index')
    .getMany();
  for (const { trajectoryId, ...row } of rows) {
    byEpisode.set(trajectoryId, [...(byEpisode.get(trajectoryId) ?? []), withoutNulls(row) as Turn]);
  }
  return byEpisode;
}

function trajectoryOf(row: TrajectoryRow, turns: Turn[]): Trajectory {
  return {
    request: row.request,
    status: row.status,
    success: row.success,
    reward: row.reward,
    rewards: row.rewards,
    turns,
    actor: row.actor,
    startedAt: iso(row.started_at),
    finishedAt: iso(row.finished_at),
    ...withoutNulls({
      invalidReason: row.invalid_reason,
      verdicts: row.verdicts,
      finalScreenshot: row.final_screenshot,
      initialState: row.initial_state,
      finalState: row.final_state,
      environment: row.environment,
      times: row.times,
      verifier: row.verifier,
      firstSuccess: row.first_success,
    }),
  };
}

/** Fields that a message omits are null in a table. */
function withoutNulls<T extends object>(row: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as {
    [Name in keyof T]?: NonNullable<T[Name]>;
  };
}
