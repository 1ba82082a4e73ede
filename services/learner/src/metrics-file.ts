import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

export interface MetricsLine {
  step: number;
  /** ISO 8601. */
  at: string;
  metrics: Record<string, number>;
}

/** `metrics.jsonl`: one line per step, each step once, whatever happened in between. */
export class MetricsFile {
  constructor(private readonly file: string) {}

  /** Drops lines of steps after the checkpoint the run goes on from, and adds that of the checkpoint where it is missing. */
  async resume(last: MetricsLine | null, step: number): Promise<void> {
    const lines = (await this.read()).filter((line) => line.step <= step);
    if (last !== null && lines.at(-1)?.step !== last.step) lines.push(last);
    await mkdir(dirname(this.file), { recursive: true });
    await writeFile(`${this.file}.writing`, lines.map(textOf).join(''));
    await rename(`${this.file}.writing`, this.file);
  }

  async add(line: MetricsLine): Promise<void> {
    await appendFile(this.file, textOf(line));
  }

  private async read(): Promise<MetricsLine[]> {
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

function textOf({ step, at, metrics }: MetricsLine): string {
  return `${JSON.stringify({ step, at, ...metrics })}\n`;
}

/** A line that was cut off by the end of the process is dropped. */
function parse(line: string): MetricsLine | undefined {
  try {
    const { step, at, ...metrics } = JSON.parse(line) as Record<string, number> & { at: string };
    return typeof step === 'number' ? { step, at, metrics } : undefined;
  } catch {
    return undefined;
  }
}
