import { Inject, Injectable } from '@nestjs/common';
import { BusService, type RunSnapshot } from '@ui-rl/bus';
import { aborted } from '@ui-rl/retry';
import { openMicroservice, RunService, type ServedRun } from '@ui-rl/service';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { CheckpointElsewhere } from './checkpoints/checkpoint-store';
import type { Learner } from './learner';
import type { LearnerOptions } from './options';
import { PolicyModule } from './policy.module';
import { RunSkipped } from './run-folder';
import { startLearner } from './start-learner';

/** Configuration of the service itself. A class, so that it can be injected. */
export abstract class LearnerServiceOptions {
  /** The only run to serve; without it one run after the other. */
  readonly runId?: string;
  /** What runs may choose from. */
  readonly components: ComponentRegistry;
  /** Reads a run's options from its record; rejects where they make no sense. */
  readonly optionsOf: (run: RunSnapshot) => Promise<LearnerOptions>;
  /** Called with an error that ends the process. */
  readonly onFailure: (error: unknown) => void;
}

/** Gives each run its learner, one at a time. A learner goes on answering after its run's end, until the next run begins. */
@Injectable()
export class LearnerService extends RunService {
  constructor(
    @Inject(BusService) bus: BusService,
    @Inject(LearnerServiceOptions) private readonly own: LearnerServiceOptions,
  ) {
    super(bus, { runId: own.runId, oneAtATime: true });
  }

  protected async prepare(run: RunSnapshot): Promise<ServedRun> {
    const { bus } = this;
    const { runId } = run.record;
    const learner = await this.start(run);
    try {
      const app = await openMicroservice(bus, PolicyModule.of(learner), { run: runId });
      bus.logger.log(`serving the policy of run ${runId}`);
      return { work: aborted, close: () => app.close() };
    } catch (error) {
      await learner.stop();
      throw error;
    }
  }

  private async start(run: RunSnapshot): Promise<Learner> {
    const { bus, own } = this;
    const { components, onFailure } = own;
    try {
      return await startLearner({ bus, run, options: await own.optionsOf(run), components, onFailure });
    } catch (error) {
      if (error instanceof CheckpointElsewhere) own.onFailure(error);
      if (error instanceof RunSkipped) {
        await bus.runs.changePhase(run.record.runId, 'stopped', { reason: error.message });
      }
      throw error;
    }
  }

  /** Whatever keeps a learner from starting, such as a model that does not load, would do so again. */
  protected override isFaultOfRun(error: unknown): boolean {
    return !(error instanceof CheckpointElsewhere) && !this.bus.closing.aborted;
  }
}
