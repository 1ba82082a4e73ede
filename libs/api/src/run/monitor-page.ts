import type { BusService } from '@ui-rl/bus';
import { boundedFetch } from '@ui-rl/http';
import { MonitorPageReply, subjects } from '@ui-rl/contracts';
import { DEADLINES } from '@ui-rl/retry';

/** The addresses are untrusted: any client of the broker can claim to be a monitor. */
const ask = boundedFetch({ maxBytes: 65_536 });

/** The address at which a monitor answers, or the problem and its fix. */
export type FoundMonitor = { address: string; path: string } | { problem: string };

/** Finds the broker's monitor at an address that is reachable from here. @param runId run whose page `path` is */
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

/** Address of the run's page on a reachable monitor; else a description of the problem and its fix. */
export async function findMonitorPage(bus: BusService, runId: string): Promise<string> {
  const found = await findMonitor(bus, runId);
  return 'problem' in found ? found.problem : `${found.address}${found.path}`;
}

/** Whether this monitor answers at the address: on this machine, another program may use the same port. */
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
