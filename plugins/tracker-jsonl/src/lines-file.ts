import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

export type Line = Readonly<Record<string, string | number>>;

/** A file of lines that are numbered upwards, each once, whatever happened in between. */
export class LinesFile {
  /** Newest number in the file. */
  private newest = -1;

  /** @param number which entry of a line is its number */
  constructor(
    private readonly file: string,
    private readonly number: string,
  ) {}

  /** Drops the lines behind that number. */
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

  /** A line that was cut off by the end of the process is dropped. */
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
