import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

export type Line = Readonly<Record<string, string | number>>;

/** A file of lines with increasing numbers, each written exactly once, even after a crash. */
export class LinesFile {
  /** Highest number in the file. */
  private newest = -1;

  /** @param number name of the field with a line's number */
  constructor(
    private readonly file: string,
    private readonly number: string,
  ) {}

  /** Drops lines with higher numbers. */
  async resume(last: number): Promise<void> {
    const lines = (await this.read()).filter((line) => this.numberOf(line) <= last);
    this.newest = lines.reduce((newest, line) => Math.max(newest, this.numberOf(line)), -1);
    await mkdir(dirname(this.file), { recursive: true });
    await writeFile(`${this.file}.writing`, lines.map(textOf).join(''));
    await rename(`${this.file}.writing`, this.file);
  }

  async add(line: Line): Promise<void> {
    if (this.numberOf(line) <= this.newest) return;
    await appendFile(this.file, textOf(line));
    this.newest = this.numberOf(line);
  }

  private numberOf(line: Line): number {
    return line[this.number] as number;
  }

  /** Drops a last line that is incomplete because the process ended. */
  private async read(): Promise<Line[]> {
    const text = await readFile(this.file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return '';
      throw error;
    });
    return text.split('\n').flatMap((line) => {
      const read = parse(line);
      return typeof read?.[this.number] === 'number' ? [read] : [];
    });
  }
}

function textOf(line: Line): string {
  return `${JSON.stringify(line)}\n`;
}

function parse(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
