import { FINAL_PHASES, type BusService } from '@ui-rl/bus';
import type { PhaseEvent, RunEvent, RunState } from '@ui-rl/contracts';
import type { ComponentChoice, ComponentRegistry } from '@ui-rl/plugin-kit';
import { DEADLINES, sleep, waitAtMost } from '@ui-rl/retry';
import { describeRun, redactRunFile, type RunFile } from '@ui-rl/settings';
import { followRun } from '../report/follow-run';
import type { RunObserver } from '../report/run-observer';
import { refuseModelFolder } from './model-name';
import { shareFiles } from './share-files';

/**
 * Announces a run to the services of a broker: those that wait for one begin with it. Files that it names on this machine are
 * uploaded before. Rejects where the run file names what other machines cannot have.
 * @param registry the components that the run file was read with
 * @param usualFormat what the model is asked in where the run file does not say
 */
export async function announceRun(
  bus: BusService,
  runId: string,
  run: RunFile,
  registry: ComponentRegistry,
  usualFormat?: ComponentChoice,
): Promise<void> {
  refuseModelFolder(run);
  const shared = await shareFiles(bus, run, registry);
  // Which modules to load is the business of each service, not of a message.
  const { plugins: _plugins, ...config } = shared;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config }, 'baseline', {
    config: redactRunFile(config, registry),
    configuration: describeRun(shared, registry, { 'model.action_format': usualFormat }),
  });
}

/**
 * Feeds an observer with every event and trajectory of a run; resolves when the run has ended. Who ends a run writes that down first
 * and publishes it then: where the event is lost, what was written down counts. Of a run that was stopped the checkpoint of its last step is
 * waited for.
 */
export async function runEnd(
  bus: BusService,
  runId: string,
  observer: RunObserver,
  onEvent: (event: RunEvent) => void,
  lastEventMs: number = DEADLINES.lastEvent.ms,
  lastCheckpointMs: number = DEADLINES.lastCheckpoint.ms,
): Promise<void> {
  const over = new AbortController();
  let end: () => void = () => undefined;
  const told = new Promise<void>((resolve) => (end = resolve));
  let store: () => void = () => undefined;
  const stored = new Promise<void>((resolve) => (store = resolve));
  const stop = await followRun(bus, runId, observer, (event) => {
    onEvent(event);
    if (observer.phase === 'stopped' && observer.isStored) store();
    if (event.type === 'phase' && isFinal(event.phase)) end();
  });
  const writtenDown = async (): Promise<void> => {
    const state = await finalState(bus, runId, over.signal);
    await sleep(lastEventMs, over.signal);
    if (over.signal.aborted) return;
    const event = phaseEvent(runId, state);
    observer.onEvent(event);
    onEvent(event);
  };
  await Promise.race([told, writtenDown()]).finally(() => over.abort());
  // A learner that is stopped keeps what it has trained after that.
  if (observer.phase === 'stopped' && !observer.isStored) await waitAtMost(lastCheckpointMs, stored);
  await stop();
}

/** Waits for the end of a run; for ever where the bus closes first. */
async function finalState(bus: BusService, runId: string, signal: AbortSignal): Promise<RunState> {
  for await (const state of bus.runs.watchState(runId, signal)) if (isFinal(state.phase)) return state;
  return new Promise<never>(() => undefined);
}

function phaseEvent(runId: string, { phase, since: at, reason }: RunState): PhaseEvent {
  return { type: 'phase', runId, phase, at, ...(reason === undefined ? {} : { reason }) };
}

function isFinal(phase: string): boolean {
  return FINAL_PHASES.some((final) => final === phase);
}
