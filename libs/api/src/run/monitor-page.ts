import type { BusService } from '@ui-rl/bus';
import { boundedFetch } from '@ui-rl/http';
import { MonitorPageReply, subjects } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';

/** The addresses are untrusted: any client of the broker can claim to be a monitor. */
const ask = boundedFetch({ maxBytes: 65_536 });

/** Where a monitor answers, and what to do where it does not. */
export type FoundMonitor = { address: string; path: string } | { problem: string };

/** The monitor at a broker, at an address that answers here. @param runId run whose page `path` is */
export async function findMonitor(bus: BusService, runId: string): Promise<FoundMonitor> {
  const { ms } = DEADLINES.monitorPage;
  const reply = await bus.request(subjects.monitorPage(), { runId }, ms, MonitorPageReply);
  if (!reply.ok) return { problem: `none answers at this broker (${reply.error.message})` };
  const { addresses, path, host, localOnly } = reply.value;
  const asked = addresses.map((address) => ({ address, answers: isAt(address, reply.value.instance) }));
  for (const { address, answers } of asked) {
    if (await answers) return { address, path };
  }
  const address = addresses[0] ?? 'nowhere';
  const why = localOnly
    ? `listens on ${host} only: read it there, tunnel (ssh -L), or start it with MONITOR_HOST=0.0.0.0`
    : `is not reached from here: MONITOR_URL tells the monitor on ${host} by which address it is`;
  return { problem: `${address}${path} ${why}` };
}

/** The monitor's page of a run at an address that answers here; else what there is, and what to do. */
export async function findMonitorPage(bus: BusService, runId: string): Promise<string> {
  const found = await findMonitor(bus, runId);
  return 'problem' in found ? found.problem : `${found.address}${found.path}`;
}

/** Whether that monitor answers at an address: on this machine the same port may be somebody else's. */
async function isAt(address: string, instance: string): Promise<boolean> {
  const signal = AbortSignal.timeout(DEADLINES.monitorPage.ms);
  try {
    const response = await ask(`${address}/api/monitor`, { signal, redirect: 'error' });
    const found = (await response.json()) as { instance?: unknown };
    return found.instance === instance;
  } catch {
    return false;
  }
}
