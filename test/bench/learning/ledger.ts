import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { defineRow, type RowDefinition } from './definitions';
import type { Row } from './row';

/** One row per line, written as soon as it is measured. */
export class Ledger {
  private constructor(
    private readonly file: string,
    private all: Row[],
  ) {}

  static read(file: string): Ledger {
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const lines = text.split('\n').filter((line) => line !== '');
    return new Ledger(
      file,
      lines.map((line) => JSON.parse(line) as Row),
    );
  }

  get rows(): readonly Row[] {
    return this.all;
  }

  /** Rows whose task or algorithm has changed or no longer exists. */
  outdated(): Row[] {
    return this.all.filter((row) => currentDigest(row) !== row.definition);
  }

  drop(rows: readonly Row[]): void {
    this.all = this.all.filter((row) => !rows.includes(row));
    writeFileSync(this.file, this.all.map((row) => `${JSON.stringify(row)}\n`).join(''));
  }

  has({ task, algorithm, seed }: RowDefinition): boolean {
    return this.all.some((row) => row.task === task && row.algorithm === algorithm && row.seed === seed);
  }

  add(row: Row): void {
    this.all.push(row);
    appendFileSync(this.file, `${JSON.stringify(row)}\n`);
  }
}

/** @throws Error that lists the ledger's rows of other definitions */
export function refuseOutdated(rows: readonly Row[]): void {
  if (rows.length === 0) return;
  const names = rows.map(({ task, algorithm, seed }) => `${task}, ${algorithm}, seed ${seed}`);
  throw new Error(
    `the ledger has rows of definitions that have changed since: ${names.join('; ')}; rows of different definitions cannot be compared: --drop-outdated takes them out, to be taken anew`,
  );
}

function currentDigest({ task, algorithm, seed }: Row): string | null {
  try {
    return defineRow(task, algorithm, seed).digest;
  } catch {
    return null;
  }
}
