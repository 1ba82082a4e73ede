import { RETRIES } from '@ui-rl/retry';
import type { EnvironmentSession, Log } from '../kinds';
import { OutsideError } from './errors';
import type { OutsideServer, ServerConnection } from './server';
import { OutsideServers, type ServerPlace } from './servers';

/** Runs episodes at servers outside of the project, each at the first server that accepts it. */
export class OutsideEpisodes {
  private readonly servers: OutsideServers;
  private readonly playing = new Set<EnvironmentSession>();

  /** @param places maximum number of concurrent episodes per server */
  constructor(connections: readonly ServerConnection[], places: number, log: Log) {
    this.servers = new OutsideServers(connections, places, RETRIES.outsideEnvironment, log);
  }

  /**
   * Starts an episode. A server that fails is set aside, and the next one is tried, unless the task itself is
   * invalid.
   *
   * @param openAt returns a session, which releases the place at its end
   * @param only addresses of the servers that may be used; default: all
   * @throws OutsideError
   */
  async begin(
    openAt: (place: ServerPlace) => Promise<EnvironmentSession>,
    signal: AbortSignal,
    only?: readonly string[],
  ): Promise<EnvironmentSession> {
    const tried = new Set<OutsideServer>(only === undefined ? [] : this.servers.except(only));
    for (;;) {
      const place = this.servers.take(tried);
      tried.add(place.server);
      try {
        return await this.playAt(place, openAt);
      } catch (error) {
        place.release(error instanceof OutsideError ? error : undefined);
        if (signal.aborted || !(error instanceof OutsideError) || error.code === 'bad_task') throw error;
        // After the last server, the next `take` reports the state of all of them.
      }
    }
  }

  /** Ends all episodes. */
  async close(): Promise<void> {
    await Promise.all([...this.playing].map((session) => session.discard()));
  }

  private async playAt(
    place: ServerPlace,
    openAt: (place: ServerPlace) => Promise<EnvironmentSession>,
  ): Promise<EnvironmentSession> {
    const { server } = place;
    const release = (failure?: OutsideError): void => {
      this.playing.delete(session);
      place.release(failure);
    };
    const session = await openAt({ server, release });
    this.playing.add(session);
    return session;
  }
}
