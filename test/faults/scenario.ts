import type { Database } from '@ui-rl/records';
import { type FleetOptions, TestFleet } from '../e2e/support/fleet';
import type { RunLog } from '../e2e/support/run-log';
import { problemsOf, remainsOf, type RunSize } from './checker';
import { IllHost } from './ill-host';

/** A fault during a run. */
export interface Scenario {
  name: string;
  /** The fault that the run must survive, in one line. */
  shows: string;
  fleet?: Omit<FleetOptions, 'database' | 'env'>;
  play(lab: FaultLab): Promise<void>;
}

const SIZE: RunSize = { evaluated: 3, groupsPerBatch: 2, groupSize: 2, steps: 4 };
const RUN_MS = 300_000;

/** A fleet, and the run that a scenario disturbs. */
export class FaultLab {
  private runs = 0;
  /** Size of the most recently started run. */
  private size = SIZE;
  /** Log of the most recently started run; undefined before that. */
  log!: RunLog;
  /** Violated expectations of a scenario. */
  readonly problems: string[] = [];

  private constructor(
    readonly fleet: TestFleet,
    readonly host: IllHost,
  ) {}

  static async start(options: FleetOptions): Promise<FaultLab> {
    const host = new IllHost();
    return new FaultLab(await TestFleet.start({ ...options, database: 'postgres', env: host.env }), host);
  }

  /** Plays a scenario to the end of its run. @returns violated invariants */
  async play(scenario: Scenario): Promise<string[]> {
    this.problems.length = 0;
    try {
      await scenario.play(this);
      await this.fleet.completes(this.log, RUN_MS);
      return [...this.problems, ...(await this.check()), ...this.fleet.unexpectedEnds];
    } catch (error) {
      return [...this.problems, (error as Error).message];
    } finally {
      await this.log?.stop();
    }
  }

  /** Starts a run of four steps by default; `training` overrides options of that group. */
  async beginRun(name: string, training: object = {}, steps = SIZE.steps): Promise<RunLog> {
    this.size = { ...SIZE, steps };
    const { groupSize, groupsPerBatch } = SIZE;
    this.log = await this.fleet.createRun(`${name}-${(this.runs += 1)}`, {
      rollout: { group_size: groupSize, max_turns: 3 },
      training: {
        ...{ deterministic: true, seed: 5, groups_per_batch: groupsPerBatch, max_steps: steps },
        ...training,
      },
    });
    return this.log;
  }

  /** Waits until a number of steps are trained. */
  async trained(steps: number): Promise<void> {
    await this.fleet.until(`step ${steps}`, () => this.log.steps.length >= steps, RUN_MS);
  }

  /** Waits until a number of episodes are in progress. */
  async playing(count: number): Promise<void> {
    const open = (): number => this.log.events('rollout_started').length - this.log.trajectories.length;
    await this.fleet.until(`${count} episodes that are played`, () => open() >= count, RUN_MS);
  }

  /** Records a violated expectation; the run continues. */
  expect(holds: boolean, otherwise: string): void {
    if (!holds) this.problems.push(otherwise);
  }

  async stop(): Promise<void> {
    await this.fleet.stop();
    this.host.remove();
  }

  private async check(): Promise<string[]> {
    let database: Database | undefined;
    try {
      database = await this.fleet.openDatabase();
      return problemsOf(await remainsOf(this.log, this.fleet.bus, database), this.size);
    } finally {
      await database?.close();
    }
  }
}
