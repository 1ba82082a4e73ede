import type { Log } from '../kinds';
import { pauseAfter, type RetryPolicy } from '@ui-rl/retry';
import { OutsideError } from './errors';
import { OutsideServer, type ServerConnection } from './server';

/** A slot for one episode at a server. */
export interface ServerPlace {
  readonly server: OutsideServer;
  /** Releases the slot. A failure sets the server aside for a time that grows with consecutive failures. */
  release(failure?: OutsideError): void;
}

interface Kept {
  server: OutsideServer;
  /** Number of running episodes. */
  used: number;
  /** Number of episodes so far. */
  taken: number;
  /** Number of consecutive failures. */
  failures: number;
  /** On the clock of `performance.now()`. */
  asideUntil: number;
  reason: string;
}

/** Address → number of episodes that all runs of this process play there. */
const PLAYED = new Map<string, number>();

function count(address: string, change: 1 | -1): void {
  const played = (PLAYED.get(address) ?? 0) + change;
  if (played === 0) PLAYED.delete(address);
  else PLAYED.set(address, played);
}

/** The servers of an environment, with their free slots and failures. */
export class OutsideServers {
  private readonly kept: readonly Kept[];

  constructor(
    connections: readonly ServerConnection[],
    private readonly places: number,
    private readonly policy: RetryPolicy,
    private readonly log: Log,
  ) {
    this.kept = connections.map((connection) => ({
      server: new OutsideServer(connection),
      used: 0,
      taken: 0,
      failures: 0,
      asideUntil: 0,
      reason: '',
    }));
  }

  /**
   * A slot at the server that has had the fewest episodes.
   * @param avoided servers that this episode has already tried
   * @throws OutsideError `capacity` with the state of each server
   */
  take(avoided: ReadonlySet<OutsideServer> = new Set()): ServerPlace {
    const now = performance.now();
    const [kept] = this.kept
      .filter(
        ({ server, asideUntil }) =>
          (PLAYED.get(server.address) ?? 0) < this.places && asideUntil <= now && !avoided.has(server),
      )
      .toSorted((a, b) => a.used - b.used || a.taken - b.taken);
    if (kept === undefined) throw new OutsideError('capacity', `no server is free: ${this.shown(now)}`);
    kept.used += 1;
    count(kept.server.address, 1);
    kept.taken += 1;
    let isHeld = true;
    const release = (failure?: OutsideError): void => {
      if (!isHeld) return;
      isHeld = false;
      kept.used -= 1;
      count(kept.server.address, -1);
      this.settle(kept, failure);
    };
    return { server: kept.server, release };
  }

  /**
   * The servers at other addresses than these.
   *
   * @throws OutsideError `bad_task` for an address without a server
   */
  except(addresses: readonly string[]): OutsideServer[] {
    const servers = this.kept.map(({ server }) => server);
    const missing = addresses.find((address) => !servers.some((server) => server.address === address));
    if (missing === undefined) return servers.filter(({ address }) => !addresses.includes(address));
    const known = servers.map(({ address }) => address).join(', ');
    throw new OutsideError(
      'bad_task',
      `the task is played at ${missing}, which the environment does not name: its servers are ${known}`,
    );
  }

  private settle(kept: Kept, failure: OutsideError | undefined): void {
    if (failure === undefined) {
      kept.failures = 0;
      return;
    }
    if (failure.code !== 'crashed' && failure.code !== 'deadline') return;
    kept.failures += 1;
    const pauseMs = pauseAfter(this.policy, kept.failures);
    kept.asideUntil = performance.now() + pauseMs;
    kept.reason = failure.message;
    this.log('warn', `${kept.server.address} is set aside for ${pauseMs / 1000} s: ${failure.message}`);
  }

  private shown(now: number): string {
    return this.kept
      .map(({ server: { address }, asideUntil, reason }) =>
        asideUntil > now
          ? `${address} is set aside for another ${Math.ceil((asideUntil - now) / 1000)} s (${reason})`
          : `${address} is in use`,
      )
      .join('; ');
  }
}
