import { Logger } from '@nestjs/common';
import type { BusService } from '@ui-rl/bus';

/** Tells people what is not as it should be, in the log and as an event of the run. */
export class RunWarnings {
  private readonly logger = new Logger('learner');

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
  ) {}

  /** @param id the same for what is the same warning, so that it is stored once */
  async send(code: string, message: string, id: string): Promise<void> {
    this.logger.warn(message);
    await this.bus.event({ type: 'warning', runId: this.runId, service: 'learner', code, message }, id);
  }
}
