import 'reflect-metadata';
import { parseArgs } from 'node:util';
import type { CrashPlan } from './crash-points';
import { type CrashRun, crashRun } from './crash-sweep';
import { headline, Ledger } from './ledger';

const HELP = `npm run crash-sweep -- [options]

  --ledger FILE   results, one a line; points that it has are not tried again (test/faults/crash-points.jsonl)
  --only TEXT     points with this text in their names
  --batch N       crashes in one run (16); if the run fails, each of its points gets a separate run
  --limit N       at most so many runs in this sitting
  --list          the points of an undisturbed run, with how often it passes them
`;

/** The result of a crash at one point. */
interface PointResult {
  point: string;
  /** The passing at which the process crashed; 0 if no run reached it. */
  passing: number;
  problems: string[];
}

/** Crashes at every point, several per run until a problem occurs. */
class Sweep {
  private readonly ledger: Ledger<PointResult>;
  /** Passings of each point in the undisturbed run; once for points that only a recovery passes. */
  private readonly points = new Map<string, number>();
  /** Points whose chosen passing was not reached: they retry with the first passing, then in a separate run. */
  private readonly missed = new Map<string, number>();
  private readonly alone: string[] = [];

  constructor(
    path: string,
    private readonly only: string,
    private readonly batch: number,
  ) {
    this.ledger = new Ledger(path);
    for (const { point } of this.ledger.all) this.points.set(point, 1);
  }

  /** Records the points of an undisturbed run. */
  async record(): Promise<ReadonlyMap<string, number>> {
    const { passed, problems, seconds } = await crashRun({});
    if (problems.length > 0) throw new Error(`undisturbed, already: ${problems.join('; ')}`);
    for (const [point, times] of passed) this.points.set(point, times);
    console.log(`${passed.size} points in an undisturbed run of ${seconds.toFixed(0)} s`);
    return passed;
  }

  /** @returns false if nothing is left to try */
  async next(): Promise<boolean> {
    const plan = this.plan();
    const planned = Object.keys(plan);
    if (planned.length === 0) return false;
    const run = await crashRun(plan);
    for (const point of run.passed.keys()) if (!this.points.has(point)) this.points.set(point, 1);
    if (run.problems.length > 0) this.blame(plan, run);
    else for (const point of run.crashed) this.settle(point, plan[point], []);
    for (const point of planned.filter((each) => !run.crashed.includes(each))) this.miss(point);
    console.log(
      `${run.crashed.length} of ${planned.length} crashes, ${run.seconds.toFixed(0)} s, ${this.left.length} points left`,
    );
    return true;
  }

  report(): void {
    const failed = this.ledger.all.filter(({ problems }) => problems.length > 0);
    const unmet = this.ledger.all.filter(({ passing }) => passing === 0);
    for (const { point, problems } of failed) console.log([point, ...problems].join('\n    '));
    console.log(
      `\n${this.points.size} points, ${this.ledger.all.length - unmet.length} with a crash, ${unmet.length} not passed again, ${failed.length} failed`,
    );
    process.exitCode = failed.length === 0 ? 0 : 1;
  }

  private get left(): string[] {
    const done = new Set(this.ledger.all.map(({ point }) => point));
    return [...this.points.keys()]
      .filter((point) => point.includes(this.only) && !done.has(point))
      .toSorted();
  }

  /** The next points: suspects one by one, otherwise points of alternating services. */
  private plan(): CrashPlan {
    const left = this.left;
    const suspect =
      this.alone.find((point) => left.includes(point)) ?? left.find((point) => this.missed.get(point) === 2);
    const chosen = suspect === undefined ? inTurns(left).slice(0, this.batch) : [suspect];
    return Object.fromEntries(chosen.map((point) => [point, this.passingOf(point)]));
  }

  /** In the middle of the run rather than at its start. */
  private passingOf(point: string): number {
    return this.missed.has(point) ? 1 : Math.ceil((this.points.get(point) ?? 1) / 2);
  }

  private blame(plan: CrashPlan, { crashed, problems }: CrashRun): void {
    console.log(problems.join('\n'));
    if (crashed.length === 1) this.settle(crashed[0], plan[crashed[0]], problems);
    else this.alone.push(...crashed);
  }

  private miss(point: string): void {
    const times = (this.missed.get(point) ?? 0) + 1;
    this.missed.set(point, times);
    if (times > 2) this.settle(point, 0, []);
  }

  private settle(point: string, passing: number, problems: readonly string[]): void {
    this.ledger.add({ point, passing, problems: problems.map(headline) });
  }
}

/** One of each service, then the next one of each. */
function inTurns(points: readonly string[]): string[] {
  const places = new Map<string, number>();
  const placed = points.map((point) => {
    const service = point.split(' ')[0];
    const place = places.get(service) ?? 0;
    places.set(service, place + 1);
    return { point, place };
  });
  return placed.toSorted((a, b) => a.place - b.place).map(({ point }) => point);
}

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const { values } = parseArgs({
    options: { ledger: text, only: text, batch: text, limit: text, list: flag, help: flag },
  });
  if (values.help === true) return console.log(HELP);
  const { ledger = 'test/faults/crash-points.jsonl', only = '', batch = '16', limit = 'Infinity' } = values;
  const sweep = new Sweep(ledger, only, Number(batch));
  const passed = await sweep.record();
  if (values.list === true) {
    for (const [point, times] of [...passed].toSorted(([a], [b]) => a.localeCompare(b)))
      console.log(`${String(times).padStart(5)}  ${point}`);
    return;
  }
  for (let run = 0; run < Number(limit); run += 1) if (!(await sweep.next())) break;
  sweep.report();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
