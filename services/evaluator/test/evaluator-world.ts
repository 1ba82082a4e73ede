import { tmpdir } from 'node:os';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import {
  ANY,
  type CheckpointEvent,
  type EvaluationEvent,
  RolloutRequest,
  type RunEvent,
  type RunPhase,
  STREAMS,
  subjects,
  type Trajectory,
} from '@ui-rl/contracts';
import { decideOnUnservedRuns, openApplication } from '@ui-rl/service';
import { loadComponents } from '@ui-rl/plugin-kit';
import { drained, eventually, makeTrajectory, type NatsServer, startNats } from '@ui-rl/testkit';
import { EvaluatorModule } from '../src/evaluator.module';

Logger.overrideLogger(false);

export const EPISODES = 2;
/** 3 training and 2 evaluation tasks. */
export const TRAIN = 3 * EPISODES;
export const ALL = 5 * EPISODES;
const config = {
  model: { name: 'any' },
  tasks: [{ source_type: 'demo_training', limit: 3 }],
  eval_tasks: [{ source_type: 'demo_eval', limit: 2 }],
  training: { seed: 5, max_steps: 20, eval_every: 10 },
  evaluation: { episodes_per_task: EPISODES },
};

/** The outcome of a rollout; null leaves it unplayed. */
export type Play = (request: RolloutRequest) => Partial<Trajectory> | null;

export const succeeds = () => ({ success: true });

export function checkpoint(runId: string, step: number | string): string {
  return `uirl://${runId}/sampler_weights/0000${step}`;
}

export function byId(events: EvaluationEvent[]): Record<string, EvaluationEvent> {
  return Object.fromEntries(events.map((event) => [event.evaluationId, event]));
}

/** A broker with runs and evaluators, and simulated actors and learner. */
export class EvaluatorWorld {
  private runs = 0;
  /** Cleanup functions of a test, run in reverse order. */
  readonly ends: (() => Promise<unknown>)[] = [];

  private constructor(
    readonly nats: NatsServer,
    readonly bus: BusService,
  ) {}

  static async open(): Promise<EvaluatorWorld> {
    const nats = await startNats();
    const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
    decideOnUnservedRuns(bus);
    return new EvaluatorWorld(nats, bus);
  }

  async endRuns(): Promise<void> {
    for (const end of this.ends.splice(0).toReversed()) await end();
  }

  async close(): Promise<void> {
    await this.bus.close();
    await this.nats.stop();
  }

  /** Creates a run that is served by its learner. */
  async createRun(phase: RunPhase = 'baseline', changes: object = {}): Promise<string> {
    const runId = await this.announceRun(phase, changes);
    await this.servePolicy(runId);
    return runId;
  }

  /** Serves the run, like a learner. */
  async servePolicy(runId: string): Promise<void> {
    const policy = {
      epoch: 0,
      version: 0,
      adapterDigest: 'd0',
      checkpoint: checkpoint(runId, '00'),
      groupsRequested: 0,
    };
    await this.bus.runs.putPolicy(runId, policy);
  }

  /** Announces a run that waits for its learner. */
  async announceRun(phase: RunPhase = 'baseline', changes: object = {}): Promise<string> {
    this.runs += 1;
    const runId = `run-${this.runs}`;
    const record = { runId, createdAt: new Date().toISOString(), config: { ...config, ...changes } };
    await this.bus.runs.create(record, phase);
    this.ends.push(() => this.bus.runs.changePhase(runId, 'stopped'));
    return runId;
  }

  async startEvaluator(runId: string, plugins: string[] = []): Promise<void> {
    const own = await BusService.connect({ service: 'evaluator', servers: [this.nats.url] });
    const components = await loadComponents({ packages: plugins });
    const app = await openApplication(
      own,
      EvaluatorModule.forRoot({ runId, components, cacheDir: tmpdir() }),
    );
    this.ends.push(async () => {
      await app.close();
      await own.close();
    });
  }

  /** Plays rollouts. Returns all received requests, including repeated ones. */
  async startActor(runId: string, play: Play): Promise<RolloutRequest[]> {
    const requests: RolloutRequest[] = [];
    const consumption = await this.bus.consume<RolloutRequest>({
      stream: STREAMS.rollouts,
      durable: `actors-${runId}`,
      subject: subjects.rollout(runId, ANY),
      schema: RolloutRequest,
      handle: async (request) => {
        requests.push(request);
        const played = play(request);
        if (played !== null) await this.publish(request, played);
      },
    });
    this.ends.push(() => consumption.stop());
    return requests;
  }

  async publish(request: RolloutRequest, played: Partial<Trajectory>, id = request.rolloutId): Promise<void> {
    const trajectory = makeTrajectory({ request, ...played });
    await this.bus.publishJson(subjects.trajectory(request.runId, request.purpose), trajectory, id);
  }

  /** Collects events of a run as they arrive. */
  async follow<T extends RunEvent>(runId: string, type: T['type']): Promise<T[]> {
    const seen: T[] = [];
    const consumption = await this.bus.consume<T>({
      stream: STREAMS.events,
      durable: `test-${runId}-${type}`,
      subject: subjects.event(runId, type),
      handle: async (event) => {
        seen.push(event);
      },
    });
    this.ends.push(() => consumption.stop());
    return seen;
  }

  inPhase(runId: string, phase: RunPhase): Promise<unknown> {
    return eventually(`phase ${phase}`, async () => (await this.bus.runs.state(runId))?.phase === phase);
  }

  /** Resolves when the evaluator has handled it. */
  async announceCheckpoint(
    runId: string,
    step: number,
    more: Pick<CheckpointEvent, 'last' | 'warmStart'> = {},
  ): Promise<void> {
    const event = {
      path: `/runs/${step}`,
      adapterDigest: `d${step}`,
      name: checkpoint(runId, step),
      ...more,
    };
    await this.bus.event({ type: 'checkpoint', runId, step, ...event }, String(step));
    await drained(this.bus, STREAMS.events, `evaluator-${runId}-checkpoints`);
  }
}
