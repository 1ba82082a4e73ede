import { Logger } from '@nestjs/common';
import type { BusService } from '@ui-rl/bus';

/** Reports problems in the log and as an event of the run. */
export class RunWarnings {
  private readonly logger = new Logger('learner');

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
  ) {}

  /** @param id identifies the warning, so that a repeated one is stored once */
  async send(code: string, message: string, id: string): Promise<void> {
    this.logger.warn(message);
    await this.bus.event({ type: 'warning', runId: this.runId, service: 'learner', code, message }, id);
  }
}
