import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** An episode with a seed that no training draws. */
export interface PlayedEpisode {
  seed: number;
  /** Raw reward, -1 … 1, without the page's discount for time. */
  raw: number;
  turns: number;
}

/** What makes rows comparable: how a policy was asked and what it saw. */
export interface Setting {
  look: string;
  prompt: string;
  action_format: string;
  temperature: number;
  max_turns: number;
}

/** How a policy was trained, as its user says. */
export interface Training {
  /** Pages that it was trained on. */
  on: 'none' | 'training-pages' | 'all';
  hours: number | null;
  episodes: number | null;
}

/** Which row it is. */
export interface RowKey {
  policy: string;
  /** Digest of its weights; of an endpoint its address. */
  weights: string;
  setting: Setting;
  page: string;
  /** Of the evaluation: it decides all seeds of its episodes. */
  seed: number;
}

/** A line of the ledger: a policy on a page, with a set of seeds. */
export interface Row extends RowKey {
  split: string;
  training: Training;
  episodes: PlayedEpisode[];
  /** Episodes that failed by no fault of the policy. */
  invalid: number;
  /** Its share of the wall time and of the processor time of all processes. */
  seconds: number;
  processorSeconds: number;
  commit: string;
  /** ISO 8601. */
  at: string;
}

/** Rows as they were taken, one a line, so that a table can be stopped and goes on. */
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

  /** The row of that key with at least so many episodes. */
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
