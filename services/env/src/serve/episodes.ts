import { LRUCache } from 'lru-cache';
import { ServedEpisode } from './episode';
import { ServeError } from './serve-error';
import { taskFor, type Wish } from './wish';
import type { ServedWorld } from './world';

/** The episodes of clients, by id. An episode ends after `environment.lease_ms` without a request. */
export class ServedEpisodes {
  private readonly byId: LRUCache<string, ServedEpisode>;
  private readonly beginning = new Map<string, Promise<ServedEpisode>>();
  private readonly stopping = new AbortController();

  constructor(readonly world: ServedWorld) {
    this.byId = new LRUCache({
      // Includes finished ones.
      max: 4 * world.maxSessions + 16,
      ttl: 2 * world.run.environment.lease_ms,
      ttlAutopurge: true,
      updateAgeOnGet: true,
      dispose: (episode) => void episode.discard(),
    });
  }

  /** Starts an episode, and abandons the previous one with that id. @throws ServeError */
  async begin(id: string, wish: Wish, isJudged = true): Promise<ServedEpisode> {
    const before = this.byId.get(id);
    this.byId.delete(id);
    await before?.discard();
    const task = taskFor(this.world.tasks, wish);
    const start = { id: wish.episodeId ?? id, task, seed: wish.seed, isJudged };
    const episode = await ServedEpisode.open(start, this.world, this.stopping.signal);
    if (this.stopping.signal.aborted) await episode.discard();
    this.byId.set(id, episode);
    return episode;
  }

  /**
   * The episode of an id; starts it if there is none: concurrent requests get the same one.
   * @param anew whether to restart one that is lost
   * @throws ServeError
   */
  async orBegin(id: string, wish: Wish, anew: boolean): Promise<ServedEpisode> {
    const known = this.byId.get(id);
    if (known !== undefined && !(known.isLost && anew)) return known;
    const begun = this.beginning.get(id);
    if (begun !== undefined) return begun;
    const beginning = this.begin(id, wish, false).finally(() => this.beginning.delete(id));
    this.beginning.set(id, beginning);
    return beginning;
  }

  /** Ids of all remembered episodes. */
  ids(): Iterable<string> {
    return this.byId.keys();
  }

  find(id: string): ServedEpisode | undefined {
    return this.byId.get(id);
  }

  /** @throws ServeError */
  get(id: string): ServedEpisode {
    const found = this.find(id);
    if (found !== undefined) return found;
    throw new ServeError('not_found', 'there is no such episode, or it was idle for too long: reset');
  }

  /** Returns whether it existed. */
  async end(id: string): Promise<boolean> {
    const episode = this.byId.get(id);
    this.byId.delete(id);
    await episode?.discard();
    return episode !== undefined;
  }

  async close(): Promise<void> {
    this.stopping.abort();
    this.byId.clear();
    await this.world.close();
  }
}
