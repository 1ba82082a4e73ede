import {
  Controller,
  Inject,
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { BusService, RequestHandler, type Consumption } from '@ui-rl/bus';
import { PolicyActRequest, PolicyInfoRequest, STREAMS, subjects, Trajectory } from '@ui-rl/contracts';
import { DEADLINES, RETRIES } from '@ui-rl/retry';
import { trajectoryConsumer } from './episodes/intake';
import { Learner } from './learner';

/**
 * Answers requests for the run's policy. Without a queue: if a learner was suspended or cut off, and another one has
 * taken over, requests reach both instead of only the silent one.
 */
@Controller()
export class PolicyController {
  constructor(@Inject(Learner) private readonly learner: Learner) {}

  @RequestHandler(subjects.policyAct('{run}'), { schema: PolicyActRequest })
  act(request: PolicyActRequest): ReturnType<Learner['act']> {
    return this.learner.act(request);
  }

  @RequestHandler(subjects.policyInfo('{run}'), { schema: PolicyInfoRequest })
  info(request: PolicyInfoRequest): ReturnType<Learner['info']> {
    return this.learner.info(request);
  }
}

/**
 * Receives the run's training episodes; each message is acknowledged when the checkpoint that includes it is saved.
 */
@Injectable()
export class TrajectoryIntake implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private consumption: Consumption | undefined;

  constructor(
    @Inject(Learner) private readonly learner: Learner,
    @Inject(BusService) private readonly bus: BusService,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { runId } = this.learner;
    this.consumption = await this.bus.consume<Trajectory>({
      stream: STREAMS.trajectories,
      durable: trajectoryConsumer(runId),
      subject: subjects.trajectory(runId, 'train'),
      schema: Trajectory,
      concurrency: this.learner.openTrajectories,
      ackWaitMs: DEADLINES.trajectory.ms,
      retry: RETRIES.trajectory,
      handle: (trajectory, { signal }) => this.learner.accept(trajectory, signal),
    });
  }

  async onModuleDestroy(): Promise<void> {
    await this.consumption?.stop();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.learner.stop();
  }
}

/** The learner of one run, on the bus. */
@Module({})
export class PolicyModule {
  static of(learner: Learner): DynamicModule {
    return {
      module: PolicyModule,
      controllers: [PolicyController],
      providers: [{ provide: Learner, useValue: learner }, TrajectoryIntake],
    };
  }
}
