import { aborted, connectCommand, findMonitor, withCleanup } from '@ui-rl/api';
import type { BusService } from '@ui-rl/bus';
import { readCliSettings } from '@ui-rl/settings';

/** Runs work over its own bus, and prints the result. */
export async function withBus<T>(
  work: (bus: BusService, signal: AbortSignal) => Promise<T>,
  { json }: { json?: boolean },
  text: (result: T) => string,
): Promise<void> {
  const settings = readCliSettings();
  process.exitCode = await withCleanup(async (signal, onEnd) => {
    const bus = await connectCommand(settings, signal);
    onEnd(() => bus.close());
    const result = await Promise.race([work(bus, signal), aborted(signal)]);
    console.log(json === true ? JSON.stringify(result, null, 2) : text(result));
    return 0;
  });
}

/** Address of the monitor that has the episodes of a run. */
export async function monitorOf(bus: BusService, runId: string): Promise<string> {
  const found = await findMonitor(bus, runId);
  if ('problem' in found) throw new Error(`the monitor has the episodes, and ${found.problem}`);
  return found.address;
}
