import { createHash } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { TrackedEvaluation, TrackedStep, Tracker } from '@ui-rl/plugin-kit';
import { appended, readLog } from './log-file';
import {
  exitRecord,
  headerRecord,
  readRows,
  rowRecords,
  runRecord,
  STEP_METRIC,
  stepMetricRecord,
  type Row,
  type RunDescription,
} from './records';

export interface OfflineRunOptions {
  runId: string;
  project: string;
  /** Display name of the run. */
  name: string;
  config: Readonly<Record<string, unknown>>;
}

/** A run in the format of W&B's offline mode: `offline-run-<when>-<id>/run-<id>.wandb`. */
export class OfflineRun implements Tracker {
  private readonly description: Omit<RunDescription, 'startedAt'>;
  private file: string | undefined;
  private startedAt: string;
  private size = 0;
  /** Numbers of records and rows in the file. */
  private records = 0;
  private rows = 0;
  private newest = 0;
  /** Steps and names of recorded evaluation metrics. */
  private readonly evaluated = new Set<string>();

  constructor(
    private readonly dir: string,
    { runId, project, name, config }: OfflineRunOptions,
  ) {
    // W&B ids are shorter than run ids; the hash gives a resumed run the same id on any machine.
    const id = createHash('sha256').update(runId).digest('hex').slice(0, 16);
    const host = hostname();
    this.description = { id, project, name, tags: [`run:${runId}`.slice(0, 64)], host, config };
  }

  /** Rewrites the file with the rows up to `step`. */
  async resume(step: number): Promise<void> {
    const found = await this.find();
    if (found === undefined) return;
    const { records } = readLog(await readFile(found));
    const rows = readRows(records).filter(({ metrics }) => metrics[STEP_METRIC] <= step);
    const whole = this.begin(rows[0]?.at ?? new Date().toISOString());
    for (const row of rows) {
      whole.push(...this.next(row));
      this.remember(row);
    }
    const bytes = appended(0, whole);
    await writeFile(`${found}.writing`, bytes);
    await rename(`${found}.writing`, found);
    this.file = found;
    this.size = bytes.length;
  }

  async step({ step, at, metrics }: TrackedStep): Promise<void> {
    if (step <= this.newest) return;
    await this.write({ at, metrics: { ...metrics, [STEP_METRIC]: step } });
  }

  async evaluation({ step, at, metrics }: TrackedEvaluation): Promise<void> {
    const fresh = Object.entries(metrics).filter(([name]) => !this.evaluated.has(keyOf(step, name)));
    if (fresh.length === 0) return;
    await this.write({ at, metrics: { ...Object.fromEntries(fresh), [STEP_METRIC]: step } });
  }

  /** Marks the run as finished; later records overwrite that mark. */
  async close(): Promise<void> {
    if (this.file !== undefined)
      await appendFile(this.file, appended(this.size, [exitRecord(this.records + 1)]));
  }

  private async write(row: Row): Promise<void> {
    if (this.file === undefined) await this.create(row.at);
    const bytes = appended(this.size, this.next(row));
    // Remove a partial record of a failed write.
    await truncate(this.file!, this.size);
    await appendFile(this.file!, bytes);
    this.size += bytes.length;
    this.remember(row);
  }

  private async create(at: string): Promise<void> {
    const when = at
      .replace(/\.\d+Z$/, '')
      .replaceAll(/[-:]/g, '')
      .replace('T', '_');
    const file = join(this.dir, `offline-run-${when}-${this.description.id}`, this.fileName);
    await mkdir(dirname(file), { recursive: true });
    const bytes = appended(0, this.begin(at));
    await writeFile(file, bytes);
    this.size = bytes.length;
    this.file = file;
  }

  private begin(startedAt: string): Uint8Array[] {
    this.startedAt = startedAt;
    this.records = 3;
    this.rows = 0;
    return [headerRecord(1), runRecord(2, { ...this.description, startedAt }), stepMetricRecord(3)];
  }

  private next(row: Row): Uint8Array[] {
    const written = rowRecords(this.records + 1, this.rows, row, this.startedAt);
    this.records += written.length;
    this.rows += 1;
    return written;
  }

  private remember({ metrics }: Row): void {
    const { [STEP_METRIC]: step, ...values } = metrics;
    const names = Object.keys(values);
    if (names.some((name) => !name.startsWith('test/'))) this.newest = Math.max(this.newest, step);
    else for (const name of names) this.evaluated.add(keyOf(step, name));
  }

  private get fileName(): string {
    return `run-${this.description.id}.wandb`;
  }

  private async find(): Promise<string | undefined> {
    const entries = await readdir(this.dir).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const folder = entries.find((entry) => entry.endsWith(`-${this.description.id}`));
    return folder === undefined ? undefined : join(this.dir, folder, this.fileName);
  }
}

function keyOf(step: number, name: string): string {
  return `${step} ${name}`;
}
