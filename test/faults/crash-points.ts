import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Points such as `learner before write runs policy`, with the number of the passing at which a process crashes. */
export type CrashPlan = Readonly<Record<string, number>>;

/**
 * Makes services crash at chosen points: before and after each publish, bucket write, request, reply, acknowledgement
 * and file rename. `crash-points.cjs` implements it, preloaded into the services.
 */
export class CrashPoints {
  constructor(
    private readonly folder: string,
    plan: CrashPlan,
  ) {
    mkdirSync(join(folder, 'crashed'), { recursive: true });
    writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan));
  }

  /** Environment variables for the services. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--require ${join(__dirname, 'crash-points.cjs')}`, CRASH_POINTS: this.folder };
  }

  /** Every passed point, with its number of passings. */
  get passed(): Map<string, number> {
    const file = join(this.folder, 'passed');
    const passed = new Map<string, number>();
    for (const point of existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])
      passed.set(point, (passed.get(point) ?? 0) + 1);
    return passed;
  }

  /** Points at which a process has crashed. */
  get crashed(): string[] {
    return readdirSync(join(this.folder, 'crashed')).map(decodeURIComponent);
  }
}
