import { MonitorAnnouncement, type OpenMonitor } from '@ui-rl/records';
import type { LiveChanges } from './live';

const EVERY_MS = 2_000;

/**
 * Makes this monitor known to others over the same embedded database, and tells its open pages of their changes.
 * Returns a function that ends both.
 */
export async function joinNeighbours(
  dataDir: string,
  monitor: OpenMonitor,
  live: LiveChanges,
): Promise<() => Promise<void>> {
  const announcement = await MonitorAnnouncement.publish(dataDir, monitor);
  let hasChanged = false;
  let seenMs = Date.now();
  live.onOwn(() => (hasChanged = true));
  const exchange = async (): Promise<void> => {
    if (hasChanged) await announcement.changed();
    hasChanged = false;
    const changedMs = await announcement.othersChangedMs();
    if (changedMs > seenMs) live.elsewhere();
    seenMs = Math.max(seenMs, changedMs);
  };
  const timer = setInterval(() => void exchange().catch(() => undefined), EVERY_MS).unref();
  return async () => {
    clearInterval(timer);
    await announcement.withdraw();
  };
}
