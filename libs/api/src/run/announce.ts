import type { BusService } from '@ui-rl/bus';
import type { RunEvent } from '@ui-rl/contracts';
import type { ComponentRegistry } from '@ui-rl/plugin-kit';
import { describeRun, redactRunFile, type RunFile } from '@ui-rl/settings';
import { followRun } from '../report/follow-run';
import type { RunObserver } from '../report/run-observer';
import { refuseModelFolder } from './model-name';
import { shareFiles } from './share-files';

const ENDS: readonly string[] = ['finished', 'failed', 'stopped'];

/**
 * Announces a run to the services of a broker: those that wait for one begin with it. Files that it names on this machine are
 * uploaded before. Rejects where the run file names what other machines cannot have.
 * @param registry the components that the run file was read with
 */
export async function announceRun(
  bus: BusService,
  runId: string,
  run: RunFile,
  registry: ComponentRegistry,
): Promise<void> {
  refuseModelFolder(run);
  const shared = await shareFiles(bus, run, registry);
  // Which modules to load is the business of each service, not of a message.
  const { plugins: _plugins, ...config } = shared;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config }, 'baseline', {
    config: redactRunFile(config, registry),
    configuration: describeRun(shared, registry),
  });
}

/** Feeds an observer with every event and trajectory of a run; resolves when the run has ended. */
export async function runEnd(
  bus: BusService,
  runId: string,
  observer: RunObserver,
  onEvent: (event: RunEvent) => void,
): Promise<void> {
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const stop = await followRun(bus, runId, observer, (event) => {
    onEvent(event);
    if (event.type === 'phase' && ENDS.includes(event.phase)) end();
  });
  await ended;
  await stop();
}
