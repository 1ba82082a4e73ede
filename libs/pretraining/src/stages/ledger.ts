import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** One line of a ledger: an event with its stage and step. */
export interface LedgerEntry {
  stage: string;
  step: number;
  event: 'start' | 'save' | 'score' | 'end';
  /** Hours of training of this stage, over all sessions. */
  hours: number;
  [figure: string]: string | number | boolean | object;
}

/** An append-only JSON Lines file. */
export class Ledger {
  constructor(private readonly file: string) {}

  async append(entry: LedgerEntry): Promise<void> {
    await mkdir(dirname(this.file), { recursive: true });
    await appendFile(this.file, `${JSON.stringify({ at: new Date().toISOString(), ...entry })}\n`);
  }

  async read(): Promise<LedgerEntry[]> {
    const text = await readFile(this.file, 'utf8').catch(() => '');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LedgerEntry);
  }
}
