import { Logger, Module, type DynamicModule, type INestMicroservice } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  BusModule,
  BusStrategy,
  describeError,
  FINAL_PHASES,
  type BusService,
  type RunSnapshot,
} from '@ui-rl/bus';
import { CheckpointElsewhere } from './checkpoint-store';
import { Learner } from './learner';
import { LearnerModule } from './learner.module';
import type { LearnerOptions } from './options';

export interface HostOptions {
  bus: BusService;
  /** Only this run; without it, one run after the other. */
  runId?: string;
  /** Reads a run's options from its record; throws where they make no sense. */
  optionsOf: (run: RunSnapshot) => LearnerOptions;
  /** Told of what ends the process. */
  onFailure: (error: unknown) => void;
}

@Module({})
class RunRoot {}

/** Waits for runs and gives each its learner. A learner goes on answering after its run's end, until the next run begins. */
export class LearnerHost {
  private readonly logger = new Logger('learner');
  private readonly stopping = new AbortController();
  private app: INestMicroservice | undefined;
  private served: string | undefined;

  constructor(private readonly options: HostOptions) {}

  /** Serves runs until stopped. */
  async serve(): Promise<void> {
    const { bus, runId } = this.options;
    this.logger.log(runId === undefined ? 'waiting for a run' : `waiting for run ${runId}`);
    for await (const run of bus.runs.watchOpen(runId, this.stopping.signal)) {
      await this.untilOver();
      if (this.stopping.signal.aborted) return;
      await this.leave();
      await this.enter(run);
    }
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.leave();
  }

  /** One device, one run at a time: a run that comes meanwhile waits for the end of the one being served. */
  private async untilOver(): Promise<void> {
    if (this.served === undefined) return;
    for await (const { phase } of this.options.bus.runs.watchState(this.served, this.stopping.signal)) {
      if (FINAL_PHASES.includes(phase)) return;
    }
  }

  private async enter(run: RunSnapshot): Promise<void> {
    const { bus, optionsOf, onFailure } = this.options;
    const { runId } = run.record;
    let learner: Learner | undefined;
    this.served = runId;
    try {
      learner = await Learner.start(bus, run, optionsOf(run), onFailure);
      const root: DynamicModule = {
        module: RunRoot,
        imports: [BusModule.forRoot(bus), LearnerModule.of(learner)],
      };
      const strategy = new BusStrategy(bus, { run: runId });
      this.app = await NestFactory.createMicroservice(root, { strategy, logger: ['log', 'warn', 'error'] });
      await this.app.listen();
      await bus.event(
        { type: 'service_ready', runId, service: 'learner', instance: bus.instance },
        bus.instance,
      );
      this.logger.log(`serving the policy of run ${runId}`);
    } catch (error) {
      if (error instanceof CheckpointElsewhere) return onFailure(error);
      const reason = describeError(error);
      this.logger.error(`run ${runId} has failed: ${reason}`);
      await learner?.stop();
      await bus.runs.changePhase(runId, 'failed', { reason });
    }
  }

  private async leave(): Promise<void> {
    const { app } = this;
    this.app = undefined;
    await app?.close();
  }
}
