import { LRUCache } from 'lru-cache';
import type { Connection } from './http';
import type { KnownScores, Scores } from './probe';

/** A server, and what is known of it. */
export class Server {
  /** Takes requests. */
  isUp = true;
  inFlight = 0;
  /** Requests so far. */
  taken = 0;
  /** Adapters that it has been proven to sample. */
  readonly proven = new Set<string>();
  /** Checks of first answers: adapter and temperature → settles with the outcome. */
  readonly agreed = new Map<string, Promise<void>>();
  /** What it says of the probes without an adapter. */
  base: Scores | undefined;
  /** What it, and the engine, said of them with the adapter that was proven last. */
  newest: (KnownScores & { served: Scores }) | undefined;

  constructor(readonly connection: Connection) {}

  get address(): string {
    return this.connection.address;
  }

  /** It gives no answers, or has forgotten its adapters: it has to prove itself again. */
  lose(): void {
    this.isUp = false;
    this.proven.clear();
    this.agreed.clear();
    this.base = this.newest = undefined;
  }
}

const MAX_EPISODES = 10_000;

/** Which server is asked: of those that have an adapter the one an episode was begun on, else the least busy. */
export class Routing {
  private readonly episodes = new LRUCache<string, Server>({ max: MAX_EPISODES });

  constructor(readonly servers: readonly Server[]) {}

  /** @param avoided those that have failed at this request already: asked again where there are no others */
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
