import type { BusService } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import type { RunFile } from '@ui-rl/settings';
import { followRun } from '../report/follow-run';
import type { RunObserver } from '../report/run-observer';

const ENDS: readonly string[] = ['finished', 'failed', 'stopped'];

/** Announces a run to the services of a broker: those that wait for one begin with it. */
export async function announceRun(bus: BusService, runId: string, run: RunFile): Promise<void> {
  // Which modules to load is the business of each service, not of a message.
  const { plugins: _plugins, ...config } = run;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config });
}

/** Feeds an observer with every event and trajectory of a run; resolves when the run has ended. */
export function runEnd(
  bus: BusService,
  runId: string,
  observer: RunObserver,
  onEvent: (event: RunEvent) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    followRun(bus, runId, observer, (event) => {
      onEvent(event);
      if (event.type === 'phase' && ENDS.includes(event.phase)) resolve();
    }).catch(reject);
  });
}
