import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Which points, `learner before write runs policy`, and at which passing of it a process crashes. */
export type CrashPlan = Readonly<Record<string, number>>;

/**
 * Lets services crash at chosen points: before and after each publish, write to a bucket, request, reply, acknowledgement and renaming of a
 * file. What does it is loaded into the services before their own code (`crash-points.cjs`).
 */
export class CrashPoints {
  constructor(
    private readonly folder: string,
    plan: CrashPlan,
  ) {
    mkdirSync(join(folder, 'crashed'), { recursive: true });
    writeFileSync(join(folder, 'plan.json'), JSON.stringify(plan));
  }

  /** For the services. */
  get env(): Record<string, string> {
    return { NODE_OPTIONS: `--require ${join(__dirname, 'crash-points.cjs')}`, CRASH_POINTS: this.folder };
  }

  /** Every point that was passed, with how often. */
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
