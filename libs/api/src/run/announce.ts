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
 * Announces a run to the services of a broker; idle services start with it. First uploads the local files that the
 * run file names. Rejects if the run file names something that other machines cannot access.
 * @param registry the components with which the run file was read
 * @param usualFormat action format of the model if the run file does not set one
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
  // Each service decides which modules to load; messages never do.
  const { plugins: _plugins, ...config } = shared;
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config }, 'baseline', {
    config: redactRunFile(config, registry),
    configuration: describeRun(shared, registry, { 'model.action_format': usualFormat }),
  });
}

/**
 * Passes every event and trajectory of a run to an observer, and resolves when the run has ended. The service that
 * ends a run first writes its state, then publishes the event; if the event is lost, the written state is used. For a
 * stopped run, it also waits for the checkpoint of the last step.
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
  // A stopped learner saves its progress after the run's end is announced.
  if (observer.phase === 'stopped' && !observer.isStored) await waitAtMost(lastCheckpointMs, stored);
  await stop();
}

/** Waits for the end of a run; never resolves if the bus closes first. */
async function finalState(bus: BusService, runId: string, signal: AbortSignal): Promise<RunState> {
  for await (const state of bus.runs.watchState(runId, signal)) if (isFinal(state.phase)) return state;
  return new Promise<never>(() => undefined);
}

function phaseEvent(runId: string, { phase, since: at, reason }: RunState): PhaseEvent {
  return { type: 'phase', runId, phase, at, reason };
}

function isFinal(phase: string): boolean {
  return FINAL_PHASES.some((final) => final === phase);
}
