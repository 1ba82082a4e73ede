import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** An episode with a seed that training never uses. */
export interface PlayedEpisode {
  seed: number;
  /** Raw reward, -1 … 1, without the page's time discount. */
  raw: number;
  turns: number;
}

/** The settings that make rows comparable: prompt and observation of a policy. */
export interface Setting {
  look: string;
  prompt: string;
  action_format: string;
  temperature: number;
  max_turns: number;
}

/** How a policy was trained, as stated by the user. */
export interface Training {
  /** Pages used for training. */
  on: 'none' | 'training-pages' | 'all';
  hours: number | null;
  episodes: number | null;
}

/** Identifies a row. */
export interface RowKey {
  policy: string;
  /** Digest of its weights; for an endpoint, its address. */
  weights: string;
  setting: Setting;
  page: string;
  /** Seed of the evaluation, which determines the seeds of all its episodes. */
  seed: number;
}

/** A line of the ledger: a policy on a page, with a set of seeds. */
export interface Row extends RowKey {
  split: string;
  training: Training;
  episodes: PlayedEpisode[];
  /** Episodes with infrastructure failures. */
  invalid: number;
  /** Its share of the wall time and of the CPU time of all processes. */
  seconds: number;
  processorSeconds: number;
  commit: string;
  /** ISO 8601. */
  at: string;
}

/** Measured rows, one per line, so that an interrupted table can be resumed. */
export class Ledger {
  private constructor(
    private readonly file: string,
    readonly rows: Row[],
  ) {}

  static read(file: string): Ledger {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const lines = text.split('\n').filter((line) => line !== '');
    return new Ledger(
      file,
      lines.map((line, index) => parsed(line, `${file}, line ${index + 1}`)),
    );
  }

  /** Whether there is a row of that key with at least this many episodes. */
  has(key: RowKey, episodes: number): boolean {
    return this.rows.some((row) => keyText(row) === keyText(key) && row.episodes.length >= episodes);
  }

  /** Later rows of the same key replace earlier ones in the table. */
  add(row: Row): void {
    this.rows.push(row);
    appendFileSync(this.file, `${JSON.stringify(row)}\n`);
  }
}

export function keyText({ policy, weights, setting, page, seed }: RowKey): string {
  const { look, prompt, action_format, temperature, max_turns } = setting;
  return JSON.stringify([policy, weights, look, prompt, action_format, temperature, max_turns, page, seed]);
}

function parsed(line: string, where: string): Row {
  try {
    return JSON.parse(line) as Row;
  } catch (cause) {
    throw new Error(`${where} is not JSON: take the line out to play its page again`, { cause });
  }
}
