import type { Trajectory } from '@ui-rl/contracts';
import { boundedFetch } from '@ui-rl/http';
import { takes, type EpisodeFilter } from './filter';
import type { EpisodeSource } from './source';

/** A page of episodes with all their tokens. Trusted, because the caller names the monitor. */
const askMonitor = boundedFetch({ maxBytes: 256 * 2 ** 20, isTrusted: true });
const ANSWER_WITHIN_MS = 120_000;

export interface MonitorAddress {
  /** Address of the monitor that has recorded the run. */
  monitor: string;
  /** Access token, which the monitor requires from other machines. */
  token?: string | undefined;
  runId: string;
  signal?: AbortSignal | undefined;
}

/** The training episodes that a monitor has recorded of a run. */
export class MonitorEpisodes implements EpisodeSource {
  readonly without: string;

  constructor(private readonly address: MonitorAddress) {
    this.without = `the monitor has no such training episode of run ${address.runId}`;
  }

  /** Valid ones, latest first. */
  async *episodes({ success, task, ...others }: EpisodeFilter): AsyncGenerator<Trajectory> {
    let before: string | null = null;
    do {
      const query = new URLSearchParams({ purpose: 'train' });
      if (success !== undefined) query.set('success', success);
      if (task !== undefined) query.set('task', task);
      if (before !== null) query.set('before', before);
      const response = await this.ask(`trajectories?${query.toString()}`);
      const page = (await response.json()) as { trajectories: Trajectory[]; cursor: string | null };
      yield* page.trajectories.filter((trajectory) => takes(others, trajectory));
      before = page.cursor;
    } while (before !== null);
  }

  async image(sha256: string): Promise<Uint8Array> {
    const response = await this.ask(`screenshots/${sha256}`);
    return Buffer.from(await response.arrayBuffer());
  }

  /** The verifier and the rewards of the run, as options of a run file. */
  async judges(): Promise<Record<string, unknown>> {
    const response = await this.ask('');
    const { config } = (await response.json()) as { config: Record<string, unknown> };
    const { verifier, rewards, plugins } = config;
    return { verifier, rewards, plugins };
  }

  private async ask(path: string): Promise<Response> {
    const { monitor, token, runId, signal } = this.address;
    const run = `${monitor.replace(/\/$/, '')}/api/runs/${encodeURIComponent(runId)}`;
    const address = path === '' ? run : `${run}/${path}`;
    const headers: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
    const late = AbortSignal.timeout(ANSWER_WITHIN_MS);
    const ends = signal === undefined ? late : AbortSignal.any([signal, late]);
    const response = await askMonitor(address, { headers, signal: ends });
    if (response.ok) return response;
    const said = (await response.json().catch(() => ({}))) as { message?: unknown };
    const why = typeof said.message === 'string' ? said.message : response.statusText;
    throw new Error(`${address} answers with status ${response.status}: ${why}`);
  }
}
