import { randomUUID } from 'node:crypto';
import type { BusService } from '@ui-rl/bus';

/** The broker of the recorded runs; none where a monitor only shows records. */
export class BrokerLink {
  /** Id of this monitor. */
  readonly instance: string;

  constructor(readonly bus: BusService | null) {
    this.instance = bus?.instance ?? randomUUID().slice(0, 8);
  }
}
