import { createHash } from 'node:crypto';
import { Controller } from '@nestjs/common';
import { Ctx, Payload } from '@nestjs/microservices';
import { type JetStreamContext, JetStreamHandler } from '@ui-rl/bus';
import { ComponentRegistry } from '@ui-rl/plugin-kit';
import { redactRunFile } from '@ui-rl/settings';
import { ANY, EVENTS, type RunEvent, STREAMS, subjects, Trajectory } from '@ui-rl/contracts';
import { Batcher } from './batcher';
import { Screenshots } from './screenshots';

/** Number of messages in progress towards one transaction. */
const CONCURRENCY = 48;
/** Maximum length of an event's key in characters. */
const MAX_KEY = 256;

/** Records the messages of the other services; a message is acknowledged once its row is committed. */
@Controller()
export class RecordingController {
  constructor(
    private readonly batcher: Batcher,
    private readonly components: ComponentRegistry,
    private readonly screenshots: Screenshots,
  ) {}

  @JetStreamHandler({
    stream: STREAMS.trajectories,
    durable: 'monitor-trajectories',
    subject: subjects.trajectory(ANY, ANY),
    schema: Trajectory,
    concurrency: CONCURRENCY,
  })
  async trajectory(@Payload() trajectory: Trajectory): Promise<void> {
    await this.screenshots.keep(trajectory);
    await this.batcher.add({ trajectory });
  }

  @JetStreamHandler({
    stream: STREAMS.events,
    durable: 'monitor-events',
    subject: subjects.event(ANY, ANY),
    schema: EVENTS,
    concurrency: CONCURRENCY,
  })
  async event(@Payload() event: RunEvent, @Ctx() context: JetStreamContext): Promise<void> {
    const key = keyOf(context.messageId ?? `${context.stream}.${context.streamSequence}.${context.storedAt}`);
    await this.batcher.add({ event: { key, event: this.recordable(event) } });
  }

  /** A run file that was announced by hand, or without one of its components, may still contain secrets. */
  private recordable(event: RunEvent): RunEvent {
    if (event.type !== 'run_created') return event;
    return Object.assign(event, { config: redactRunFile(event.config, this.components) });
  }
}

/** An index limits the length of keys. */
function keyOf(id: string): string {
  return id.length <= MAX_KEY ? id : createHash('sha256').update(id).digest('hex');
}
