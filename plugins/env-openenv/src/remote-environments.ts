import {
  asOutsideReply,
  connectionsOf,
  DEADLINES,
  isRecord,
  isServerAddress,
  OutsideEpisodes,
  OutsideError,
  serverAddress,
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
import type { ActionFormat } from './action-format';
import type { FrameOptions } from './frame';
import type { McpOptions, OpenEnvOptions } from './options';
import { shown, type RemoteEnvironment } from './remote';
import { OpenEnvSession } from './session';

/** Environment variables of the machine: allowed servers, and their keys. */
export interface ServerVariables {
  servers: string;
  keys: string;
}

/** One environment on a server, and how actions are written for it. */
export interface Connected {
  remote: RemoteEnvironment;
  format: ActionFormat;
}

/** Environments on servers of one protocol. */
export class RemoteEnvironments implements Environment {
  private readonly episodes: OutsideEpisodes;
  private readonly name: string;

  constructor(
    kind: { name: string; variables: ServerVariables },
    { servers, sessions_per_server: places, max_answer_mb: maxMb }: OpenEnvOptions | McpOptions,
    private readonly frame: FrameOptions,
    { variables = {}, log }: EnvironmentContext,
    private readonly connect: (server: OutsideServer, signal: AbortSignal) => Promise<Connected>,
  ) {
    this.name = kind.name;
    const connections = connectionsOf(
      {
        named: servers,
        variables,
        serversVariable: kind.variables.servers,
        keysVariable: kind.variables.keys,
        maxBytes: maxMb * 2 ** 20,
      },
      'servers',
    );
    this.episodes = new OutsideEpisodes(connections, places, log);
  }

  open({ task, seed }: OpenOptions, { signal }: Deadline): Promise<Reply<EnvironmentSession>> {
    return asOutsideReply(async () => {
      const { reset, servers } = optionsOf(task, this.name);
      return this.episodes.begin((place) => this.openAt(place, reset, seed, signal), signal, servers);
    });
  }

  close(): Promise<void> {
    return this.episodes.close();
  }

  private async openAt(
    place: ServerPlace,
    reset: Record<string, unknown>,
    seed: number,
    signal: AbortSignal,
  ): Promise<EnvironmentSession> {
    const { remote, format } = await this.connect(place.server, signal);
    try {
      const first = await remote.reset(seed, reset, signal);
      return await OpenEnvSession.of(first, { remote, place, format, frame: this.frame });
    } catch (error) {
      await remote.close(AbortSignal.timeout(DEADLINES.outsideLeave.ms)).catch(() => undefined);
      throw error;
    }
  }
}

/** The signal, or sooner the deadline for whether a server is reachable. */
export function soon(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(DEADLINES.outsideReady.ms)]);
}

interface TaskSettings {
  /** Options of the reset, besides the seed. */
  reset: Record<string, unknown>;
  /** Addresses of the servers that play the task; undefined for any. */
  servers: string[] | undefined;
}

/** @throws OutsideError */
function optionsOf({ environment, start }: Task, kind: string): TaskSettings {
  const { reset = {}, servers, ...unknown } = environment?.options ?? {};
  const [key] = Object.keys(unknown);
  if (key !== undefined) {
    throw new OutsideError(
      'bad_task',
      `environment ${kind} has no option "${key}" for a task: there are reset and servers`,
    );
  }
  const given = isRecord(reset) ? { ...reset, ...start } : undefined;
  if (given !== undefined && !('seed' in given)) return { reset: given, servers: addressesOf(servers) };
  throw new OutsideError(
    'bad_task',
    'reset of a task, with its start, is an object without "seed", which the rollout has',
  );
}

function addressesOf(servers: unknown): string[] | undefined {
  if (servers === undefined) return undefined;
  if (Array.isArray(servers) && servers.length > 0 && servers.every(isServerAddress))
    return servers.map((each) => serverAddress(each));
  throw new OutsideError('bad_task', `servers of a task is ${shown(servers)}, expected a list of addresses`);
}
