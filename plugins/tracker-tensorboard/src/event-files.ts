import { appendFile, mkdir, readdir, readFile, truncate } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { TrackedEvaluation, TrackedStep, Tracker } from '@ui-rl/plugin-kit';
import { readEvent, restartEvent, scalarEvent, versionEvent, type Scalars } from './events';
import { readRecords, writeRecord, type ReadRecord } from './records';

const EVENT_FILE = /^events\.out\.tfevents\./;

/** A folder with one event file. It contains each metric of a step exactly once, even after a crash. */
export class EventFiles implements Tracker {
  private file: string | undefined;
  private newest = 0;
  /** Recorded evaluation metrics, by step and name. */
  private readonly evaluated = new Set<string>();

  constructor(private readonly dir: string) {}

  /** Truncates the file in place after `step`, so that a TensorBoard that is reading it continues. */
  async resume(step: number): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    const name = (await readdir(this.dir)).find((entry) => EVENT_FILE.test(entry));
    if (name === undefined) return;
    this.file = join(this.dir, name);
    const bytes = await readFile(this.file);
    const records = readRecords(bytes).map((record) => ({ ...record, ...readEvent(record.data) }));
    const kept = records.filter((record) => record.step <= step);
    for (const each of kept) this.remember(each);
    const cut = records.find((record) => record.step > step)?.begin ?? records.at(-1)?.end ?? 0;
    const behind = kept.filter(({ begin }) => begin >= cut);
    if (cut === bytes.length) return;
    await truncate(this.file, cut);
    if (cut === 0) await this.append(versionEvent(now()));
    await this.append(restartEvent(now(), step + 1));
    await this.append(...behind.map(({ data }: ReadRecord) => data));
  }

  async step(step: TrackedStep): Promise<void> {
    if (step.step <= this.newest) return;
    await this.write(step);
    this.newest = step.step;
  }

  async evaluation({ step, at, metrics }: TrackedEvaluation): Promise<void> {
    const fresh = Object.entries(metrics).filter(([name]) => !this.evaluated.has(keyOf(step, name)));
    if (fresh.length === 0) return;
    await this.write({ step, at, metrics: Object.fromEntries(fresh) });
    for (const [name] of fresh) this.evaluated.add(keyOf(step, name));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private remember({ step, tags }: { step: number; tags: string[] }): void {
    if (tags.some((tag) => !tag.startsWith('test/'))) this.newest = Math.max(this.newest, step);
    else for (const tag of tags) this.evaluated.add(keyOf(step, tag));
  }

  private async write(scalars: Scalars): Promise<void> {
    if (this.file === undefined) {
      await mkdir(this.dir, { recursive: true });
      const seconds = Math.floor(Date.parse(scalars.at) / 1000);
      this.file = join(this.dir, `events.out.tfevents.${seconds}.${hostname()}`);
      await this.append(versionEvent(scalars.at));
    }
    await this.append(scalarEvent(scalars));
  }

  private async append(...events: Uint8Array[]): Promise<void> {
    await appendFile(this.file!, Buffer.concat(events.map(writeRecord)));
  }
}

function keyOf(step: number, name: string): string {
  return `${step} ${name}`;
}

function now(): string {
  return new Date().toISOString();
}
