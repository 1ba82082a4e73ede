import { boundedFetch } from '@ui-rl/http';
import type { RunLabels } from '@ui-rl/records';
import { DEADLINES } from '@ui-rl/retry';
import type { MonitorAddress } from '../episodes/monitor-source';

/** Trusted, because the caller names the monitor. */
const askMonitor = boundedFetch({ maxBytes: 1_048_576, isTrusted: true });

/**
 * Changes the name, notes, tags or archive of a run in the records of a monitor. Missing fields stay as they are.
 *
 * @returns all of them
 * @throws Error with the monitor's words if it refuses the changes
 */
export async function editRun(
  { monitor, token, runId, signal }: MonitorAddress,
  changes: Partial<RunLabels>,
): Promise<RunLabels> {
  const address = `${monitor.replace(/\/$/, '')}/api/runs/${encodeURIComponent(runId)}`;
  const late = AbortSignal.timeout(DEADLINES.pageQuery.ms);
  const response = await askMonitor(address, {
    method: 'PATCH',
    headers: {
      'Content-Type': 'application/json',
      ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(changes),
    signal: signal === undefined ? late : AbortSignal.any([signal, late]),
  });
  const body = (await response.json().catch(() => ({}))) as RunLabels & { message?: string | string[] };
  if (response.ok) return body;
  const why = [body.message ?? response.statusText].flat().join(', ');
  throw new Error(`${address} answers with status ${response.status}: ${why}`);
}
