import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FINAL_PHASES } from '@ui-rl/bus';
import { RUN_PHASES, type RunPhase } from '@ui-rl/contracts';
import {
  deleteRun,
  embeddedUse,
  findRun,
  listRuns,
  migrate,
  openDatabase,
  openMonitors,
  reclaimSpace,
  screenshotFolder,
  type Database,
  type RunSummary,
  type StoreUse,
} from '@ui-rl/records';
import type { CliSettings, DatabaseSettings } from '@ui-rl/settings';
import type { KnownRun } from './runs';

/** Deleted records of a run. */
export interface DeletedRecords {
  runId: string;
  episodes: number;
  /** Bytes of its screenshots; null if the records do not include screenshots. */
  screenshotBytes: number | null;
}

const PAGE = 200;

/** The records of this machine's runs, or those in the database that the user configured. */
export class RecordedRuns {
  private constructor(
    private readonly settings: DatabaseSettings,
    private readonly database: Database,
  ) {}

  /** Null if there are no records yet. @throws RecordsError if they cannot be opened */
  static async open({ database: settings }: Pick<CliSettings, 'database'>): Promise<RecordedRuns | null> {
    if (!hasRecords(settings)) return null;
    const database = await openDatabase(settings);
    try {
      await migrate(database.dataSource);
      return new RecordedRuns(settings, database);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** All runs, oldest first. */
  async list(): Promise<KnownRun[]> {
    const runs: KnownRun[] = [];
    for (let before: string | undefined; ; before = runs.at(-1)?.runId) {
      const page = await listRuns(this.database.dataSource, { archived: 'yes', limit: PAGE, before });
      runs.push(...page.map(knownRun));
      if (page.length < PAGE) return runs.toReversed();
    }
  }

  /** Null for a database on a server. */
  async use(): Promise<StoreUse | null> {
    return this.settings.kind === 'pglite' ? embeddedUse(this.settings.dataDir) : null;
  }

  /**
   * Deletes the records and screenshots of runs, and returns their space; with `dryRun` it only reports. Runs without
   * records are left out.
   *
   * @throws Error before any deletion if a monitor of this machine still records one of them
   */
  async delete(
    runIds: readonly string[],
    { dryRun = false }: { dryRun?: boolean } = {},
  ): Promise<DeletedRecords[]> {
    const { dataSource } = this.database;
    const found: DeletedRecords[] = [];
    for (const runId of runIds) {
      const run = await findRun(dataSource, runId);
      if (run === null) continue;
      await this.assertEnded(run);
      const screenshotBytes = (await this.screenshots?.sizeOf(runId)) ?? null;
      found.push({ runId, episodes: run.episodes, screenshotBytes });
    }
    if (dryRun || found.length === 0) return found;
    for (const { runId } of found) {
      // In this order: an interrupted deletion still finds the run.
      await this.screenshots?.delete(runId);
      await deleteRun(dataSource, runId);
    }
    if (this.settings.kind === 'pglite') await reclaimSpace(dataSource);
    return found;
  }

  close(): Promise<void> {
    return this.database.close();
  }

  private get screenshots() {
    return this.settings.kind === 'pglite' ? screenshotFolder(this.settings.dataDir) : null;
  }

  /** The phase of a run whose services were killed stays as it was. */
  private async assertEnded({ id, phase }: RunSummary): Promise<void> {
    if (this.settings.kind !== 'pglite' || FINAL_PHASES.some((final) => final === phase)) return;
    const monitors = await openMonitors(this.settings.dataDir);
    const recording = monitors.find(({ records, run }) => records && (run === undefined || run === id));
    if (recording !== undefined)
      throw new Error(
        `run ${id} has not ended (${phase ?? 'no phase'}): process ${recording.pid} records it`,
      );
  }
}

/** Whether there is something to open: opening an embedded database would create it. */
export function hasRecords(database: DatabaseSettings): boolean {
  return database.kind === 'postgres' || existsSync(join(database.dataDir, 'PG_VERSION'));
}

function knownRun({ id, phase, phaseSince, phaseReason, createdAt, steps }: RunSummary): KnownRun {
  return {
    runId: id,
    phase: RUN_PHASES.find((each): each is RunPhase => each === phase) ?? null,
    ...(phaseSince === null ? {} : { since: phaseSince }),
    ...(phaseReason === null ? {} : { reason: phaseReason }),
    createdAt,
    step: steps,
  };
}
