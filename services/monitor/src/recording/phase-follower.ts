import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { describeError } from '@ui-rl/retry';
import { ANY, runKeys, runOfKey, RunState } from '@ui-rl/contracts';
import { Batcher } from './batcher';

/**
 * Records the stored phases in addition to phase events: a process may end between the two, and the last event would
 * then be missing. The key is that of the event, so that a phase is recorded once.
 */
@Injectable()
export class PhaseFollower implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly stopping = new AbortController();
  private following: Promise<void> = Promise.resolve();

  constructor(
    private readonly bus: BusService,
    private readonly batcher: Batcher,
  ) {}

  onApplicationBootstrap(): void {
    this.following = this.follow();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.following;
  }

  private async follow(): Promise<void> {
    const states = this.bus.runsBucket.watch(runKeys.state(ANY), this.stopping.signal, RunState);
    for await (const { key, value } of states) {
      if (value === null) continue;
      this.record(runOfKey(key), value).catch((error: unknown) => {
        if (!this.stopping.signal.aborted) this.bus.logger.error(describeError(error));
      });
    }
  }

  private async record(runId: string, { phase, since: at, reason }: RunState): Promise<void> {
    const event = { type: 'phase' as const, runId, phase, at, reason };
    await this.batcher.add({ event: { key: `${runId}.phase.${phase}.${at}`, event } });
  }
}
