import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Results in a file, one JSON object a line: what was done in one sitting is not done again in the next one. */
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

/** What a ledger keeps of a problem: errors of a fleet go on with all its logs. */
export function headline(problem: string): string {
  return problem.split('\n')[0].slice(0, 300);
}
