import { hostname } from 'node:os';
import { Inject, Injectable, Optional, type INestMicroservice } from '@nestjs/common';
import { BusService, LeaseLost, type Lease, type RunSnapshot } from '@ui-rl/bus';
import { EngineError } from '@ui-rl/engine';
import { aborted } from '@ui-rl/retry';
import { isHubAway, ModelError } from '@ui-rl/models';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { SamplingError } from '@ui-rl/sampling';
import { causesOf, openMicroservice, RunService, type ServedRun } from '@ui-rl/service';
import type { RunFile } from '@ui-rl/settings';
import { CheckpointElsewhere } from './checkpoints/checkpoint-store';
import { PolicyEndpoint } from './endpoint/policy-endpoint';
import type { Learner } from './learner';
import type { MachineOptions } from './options';
import { PolicyModule } from './policy.module';
import { RunSkipped } from './run-folder';
import { startLearner } from './start/start-learner';

/** Configuration of the service itself. A class, so that it can be injected. */
export abstract class LearnerServiceOptions {
  /** The only run to serve; default: one run after the other. */
  readonly runId?: string;
  /** Components that runs may choose. */
  readonly components: ComponentRegistry;
  /** Reads a run's file from its record; rejects an invalid one. */
  readonly optionsOf: (run: RunSnapshot) => Promise<RunFile>;
  readonly machine: MachineOptions;
  /** Called with an error that ends the process. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Creates the learner of each run, one at a time. A learner continues to answer after its run's end, until the next
 * run begins.
 */
@Injectable()
export class LearnerService extends RunService {
  constructor(
    @Inject(BusService) bus: BusService,
    @Inject(LearnerServiceOptions) private readonly own: LearnerServiceOptions,
    @Optional() @Inject(PolicyEndpoint) private readonly endpoint?: PolicyEndpoint,
  ) {
    super(bus, { runId: own.runId, oneAtATime: true });
  }

  /** Waits to become the only learner of the run, until another one takes over. */
  protected async prepare(run: RunSnapshot, signal: AbortSignal): Promise<ServedRun | null> {
    const { bus } = this;
    const { runId } = run.record;
    const lease = await bus.runs.lease(runId, {
      ...{ holder: bus.instance, host: hostname(), signal },
      onWaiting: ({ holder, host }) =>
        bus.logger.log(`run ${runId} has a learner, ${holder} on ${host}: this one waits to take over`),
    });
    try {
      const app = await this.open(run, lease);
      if (app === null) {
        await lease.release();
        return null;
      }
      bus.logger.log(`serving the policy of run ${runId}`);
      return {
        work: (stop) => this.untilLost(runId, lease, stop),
        close: () => this.closeAndRelease(runId, app, lease),
      };
    } catch (error) {
      try {
        lease.lost.throwIfAborted();
        throw error;
      } finally {
        await lease.release();
      }
    }
  }

  private async open(run: RunSnapshot, lease: Lease): Promise<INestMicroservice | null> {
    const learner = await this.start(run, lease);
    if (learner === null) return null;
    try {
      const app = await openMicroservice(this.bus, PolicyModule.of(learner), { run: run.record.runId });
      this.endpoint?.serve(learner.runId, learner.outside);
      return app;
    } catch (error) {
      await learner.stop();
      throw error;
    }
  }

  private async start(run: RunSnapshot, lease: Lease): Promise<Learner | null> {
    const { bus, own } = this;
    const { components, machine } = own;
    // Releases the lease, so that a waiting learner need not wait for its expiry.
    const onFailure = (error: unknown): void => void lease.release().finally(() => own.onFailure(error));
    try {
      const options = await own.optionsOf(run);
      return await startLearner({ bus, run, options, machine, components, lease, onFailure });
    } catch (error) {
      if (error instanceof CheckpointElsewhere) onFailure(error);
      if (!(error instanceof RunSkipped)) throw error;
      await bus.runs.changePhase(run.record.runId, 'stopped', { reason: error.message });
      return null;
    }
  }

  /** A model that is missing, invalid, or does not support the run's options. */
  protected override isMisconfiguration(error: unknown): boolean {
    if (super.isMisconfiguration(error)) return true;
    return [...causesOf(error)].some(
      (cause) =>
        (cause instanceof ModelError && !isHubAway(cause)) ||
        cause instanceof SamplingError ||
        (cause instanceof EngineError && cause.category !== 'worker'),
    );
  }

  protected override passes(error: unknown): boolean {
    return (
      super.passes(error) ||
      [...causesOf(error)].some((cause) => cause instanceof LeaseLost || isHubAway(cause))
    );
  }

  private async closeAndRelease(runId: string, app: INestMicroservice, lease: Lease): Promise<void> {
    this.endpoint?.release(runId);
    try {
      await app.close();
    } finally {
      await lease.release();
    }
  }

  /** @throws LeaseLost if another learner has taken over: this one starts again, and waits */
  private async untilLost(runId: string, { lost }: Lease, stop: AbortSignal): Promise<void> {
    await aborted(AbortSignal.any([stop, lost]));
    const isOver = stop.aborted || (await this.bus.runs.record(runId)) === null;
    if (!isOver) lost.throwIfAborted();
  }
}
