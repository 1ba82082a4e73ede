import {
  asOutsideReply,
  connectionsOf,
  DEADLINES,
  OutsideEpisodes,
  OutsideError,
  type Deadline,
  type Environment,
  type EnvironmentContext,
  type EnvironmentSession,
  type OpenOptions,
  type OutsideServer,
  type Reply,
  type ServerPlace,
  type Task,
} from '@ui-rl/plugin-kit';
import type { UiVerifiersOptions } from './options';
import { greet, isSessionType, onlySession, openSession, opensSessions, type RemoteSession } from './remote';
import { UiVerifiersSession } from './session';

/** Environment variables of the machine: allowed servers, and their keys. */
export const VARIABLES = { servers: 'UI_VERIFIERS_SERVERS', keys: 'UI_VERIFIERS_KEYS' } as const;

/** Sessions of ui-verifiers servers; each server session serves one episode. */
export class UiVerifiersEnvironment implements Environment {
  private readonly episodes: OutsideEpisodes;
  /** Servers with a single session → start time of the session in which the last episode was played. */
  private readonly played = new Map<OutsideServer, string>();

  constructor(
    private readonly options: UiVerifiersOptions,
    { variables = {}, log }: EnvironmentContext,
  ) {
    const connections = connectionsOf(
      {
        named: options.ui_env_urls,
        variables,
        serversVariable: VARIABLES.servers,
        keysVariable: VARIABLES.keys,
        maxBytes: options.max_answer_mb * 2 ** 20,
      },
      'ui_env_urls',
    );
    const places = options.sessions === 'many' ? options.sessions_per_server : 1;
    this.episodes = new OutsideEpisodes(connections, places, log);
  }

  open({ task }: OpenOptions, { signal }: Deadline): Promise<Reply<EnvironmentSession>> {
    return asOutsideReply(async () => {
      const type = sessionTypeOf(task);
      return this.episodes.begin((place) => this.openAt(place, type, signal), signal);
    });
  }

  close(): Promise<void> {
    return this.episodes.close();
  }

  private async openAt(
    place: ServerPlace,
    type: string | undefined,
    signal: AbortSignal,
  ): Promise<EnvironmentSession> {
    const { server } = place;
    const { remote, startedAt } = await this.remoteAt(server, type, signal);
    try {
      const [before, screenshot] = [await remote.progress(signal), await remote.screenshot(signal)];
      const { delay_seconds: delaySeconds } = this.options;
      if (startedAt !== undefined) this.played.set(server, startedAt);
      return new UiVerifiersSession(screenshot, { remote, place, before, delaySeconds });
    } catch (error) {
      await remote.end(AbortSignal.timeout(DEADLINES.outsideLeave.ms)).catch(() => undefined);
      throw error;
    }
  }

  private async remoteAt(
    server: OutsideServer,
    type: string | undefined,
    signal: AbortSignal,
  ): Promise<{ remote: RemoteSession; startedAt?: string }> {
    const { sessions, session_type: usual } = this.options;
    const soon = AbortSignal.any([signal, AbortSignal.timeout(DEADLINES.outsideReady.ms)]);
    const { startedAt, type: own } = await greet(server, soon);
    if (sessions === 'many' || (sessions === 'auto' && (await opensSessions(server, soon)))) {
      return { remote: await openSession(server, type ?? usual, signal) };
    }
    if (type !== undefined && own !== undefined && own !== type) {
      throw new OutsideError(
        'bad_task',
        `the task is for a session of type ${type}, but ${server.address} has one of type ${own}`,
      );
    }
    const remote = onlySession(server);
    if (this.options.between_episodes === 'continue') return { remote };
    return { remote, startedAt: this.freshSince(server, startedAt) };
  }

  /** The start time of a server that has had no episode since. @throws OutsideError */
  private freshSince(server: OutsideServer, startedAt: string | undefined): string {
    if (startedAt === undefined) {
      throw new OutsideError(
        'crashed',
        `${server.address} does not say when it began ("Start time: …"), as between_episodes: restart needs`,
      );
    }
    if (this.played.get(server) === startedAt) {
      throw new OutsideError(
        'capacity',
        `${server.address} has had its episode, and was not started anew since`,
      );
    }
    return startedAt;
  }
}

/** The session type of a task; undefined if it names none. @throws OutsideError */
function sessionTypeOf({ environment, start = {} }: Task): string | undefined {
  const [wanted] = Object.keys(start);
  if (wanted !== undefined)
    throw new OutsideError(
      'bad_task',
      `environment ui-verifiers cannot begin as a task says (start.${wanted}): a session begins as its server has it`,
    );
  const { session_type: type, ...others } = environment?.options ?? {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw new OutsideError(
      'bad_task',
      `environment ui-verifiers has no option "${unknown}" for a task: there is session_type`,
    );
  if (type === undefined || isSessionType(type)) return type;
  throw new OutsideError('bad_task', 'session_type of a task is a name such as simple_data_entry');
}
