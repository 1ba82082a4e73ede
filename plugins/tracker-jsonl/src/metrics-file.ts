import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TrackedStep, Tracker } from '@ui-rl/plugin-kit';

/** `metrics.jsonl`: one line per step, each step once, whatever happened in between. */
export class MetricsFile implements Tracker {
  /** Newest step in the file. */
  private newest = 0;

  constructor(private readonly file: string) {}

  async resume(step: number): Promise<void> {
    const lines = (await this.read()).filter((line) => line.step <= step);
    this.newest = lines.at(-1)?.step ?? 0;
    await mkdir(dirname(this.file), { recursive: true });
    await writeFile(`${this.file}.writing`, lines.map(textOf).join(''));
    await rename(`${this.file}.writing`, this.file);
  }

  async step(line: TrackedStep): Promise<void> {
    if (line.step <= this.newest) return;
    await appendFile(this.file, textOf(line));
    this.newest = line.step;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  private async read(): Promise<TrackedStep[]> {
    const text = await readFile(this.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    return text
      .split('\n')
      .map(parse)
      .filter((line) => line !== undefined);
  }
}

function textOf({ step, at, metrics }: TrackedStep): string {
  return `${JSON.stringify({ step, at, ...metrics })}\n`;
}

/** A line that was cut off by the end of the process is dropped. */
function parse(line: string): TrackedStep | undefined {
  try {
    const { step, at, ...metrics } = JSON.parse(line) as Record<string, number> & { at: string };
    return typeof step === 'number' ? { step, at, metrics } : undefined;
  } catch {
    return undefined;
  }
}
