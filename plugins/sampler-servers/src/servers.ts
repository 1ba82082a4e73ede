import { LRUCache } from 'lru-cache';
import type { Connection } from './http';
import type { KnownScores, Scores } from './probe';

/** A server, and its known state. */
export class Server {
  /** Accepts requests. */
  isUp = true;
  inFlight = 0;
  /** Requests so far. */
  taken = 0;
  /** Adapters that it has proven to sample. */
  readonly proven = new Set<string>();
  /** Checks of first answers: adapter and temperature → promise of the outcome. */
  readonly agreed = new Map<string, Promise<void>>();
  /** Its probe scores without an adapter. */
  base: Scores | undefined;
  /** The server's and the engine's probe scores with the most recently proven adapter. */
  newest: (KnownScores & { served: Scores }) | undefined;

  constructor(readonly connection: Connection) {}

  get address(): string {
    return this.connection.address;
  }

  /** Called when it stops answering or has lost its adapters: it must prove itself again. */
  lose(): void {
    this.isUp = false;
    this.proven.clear();
    this.agreed.clear();
    this.base = this.newest = undefined;
  }
}

const MAX_EPISODES = 10_000;

/**
 * Chooses the server of a request: among those with the adapter, the one that serves the episode, else the least
 * busy.
 */
export class Routing {
  private readonly episodes = new LRUCache<string, Server>({ max: MAX_EPISODES });

  constructor(readonly servers: readonly Server[]) {}

  /** @param avoided servers that have failed this request, used only if there are no others */
  pick(adapter: string, episode: string | undefined, avoided: ReadonlySet<Server>): Server | undefined {
    const able = this.servers.filter(({ isUp, proven }) => isUp && proven.has(adapter));
    const fresh = able.filter((server) => !avoided.has(server));
    const candidates = fresh.length > 0 ? fresh : able;
    const home = episode === undefined ? undefined : this.episodes.get(episode);
    const found = home !== undefined && candidates.includes(home) ? home : leastBusy(candidates);
    if (episode !== undefined && found !== undefined) this.episodes.set(episode, found);
    return found;
  }
}

function leastBusy(servers: readonly Server[]): Server | undefined {
  return servers.toSorted((a, b) => a.inFlight - b.inFlight || a.taken - b.taken)[0];
}
