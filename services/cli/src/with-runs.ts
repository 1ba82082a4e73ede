import { aborted, connectCommand, hasRecords, RecordedRuns, serverName, withCleanup } from '@ui-rl/api';
import type { BusService } from '@ui-rl/bus';
import { readCliSettings, type CliSettings } from '@ui-rl/settings';

/** The default port of NATS. */
const USUAL_PORT = 4222;

/** Where the runs of a command are. */
export interface RunPlaces {
  /** Null if there is no broker, and records instead. */
  bus: BusService | null;
  /** Null with a broker that the user configured, and if nothing was recorded yet. */
  records: RecordedRuns | null;
}

/**
 * Runs work over the broker that the user configured; else over the records of this machine and the broker of
 * `ui-rl up`, as far as there are any. Prints the result.
 */
export async function withRuns<T>(
  work: (places: RunPlaces) => Promise<T>,
  { json }: { json?: boolean },
  text: (result: T, places: RunPlaces) => Promise<string> | string,
): Promise<void> {
  const settings = readCliSettings();
  process.exitCode = await withCleanup(async (signal, onEnd) => {
    const records = settings.hasBroker ? null : await RecordedRuns.open(settings);
    if (records !== null) onEnd(() => records.close());
    const bus = (await needsBroker(settings)) ? await connectCommand(settings, signal) : null;
    if (bus !== null) onEnd(() => bus.close());
    const places = { bus, records };
    const result = await Promise.race([work(places), aborted(signal)]);
    console.log(json === true ? JSON.stringify(result, null, 2) : await text(result, places));
    return 0;
  });
}

/** Without a broker, the records are enough. */
async function needsBroker({ reachesBroker, database }: CliSettings): Promise<boolean> {
  return reachesBroker || !hasRecords(database) || (await serverName(USUAL_PORT)) !== undefined;
}
