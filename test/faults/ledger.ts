import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Results in a JSON Lines file, so that a later session does not repeat finished work. */
export class Ledger<T> {
  private readonly results: T[];

  constructor(private readonly path: string) {
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
    this.results = lines.filter((line) => line !== '').map((line) => JSON.parse(line) as T);
  }

  get all(): readonly T[] {
    return this.results;
  }

  add(result: T): void {
    this.results.push(result);
    appendFileSync(this.path, `${JSON.stringify(result)}\n`);
  }
}

/** The first line of a problem: a fleet's errors include all logs. */
export function headline(problem: string): string {
  return problem.split('\n')[0].slice(0, 300);
}
