import {
  asOutsideReply,
  connectionsOf,
  DEADLINES,
  isRecord,
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
import { browserGymFormat, ownFormat, templateFormat, type ActionFormat } from './action-format';
import { HttpEnvironment } from './http-environment';
import { McpEnvironment } from './mcp-environment';
import type { OpenEnvOptions } from './options';
import { recordOf, type RemoteEnvironment } from './remote';
import { OpenEnvSession } from './session';
import { SocketEnvironment } from './socket-environment';

/** Environment variables of the machine: allowed servers, and their keys. */
export const VARIABLES = { servers: 'OPENENV_SERVERS', keys: 'OPENENV_KEYS' } as const;

/** Environments of OpenEnv servers. */
export class OpenEnvEnvironment implements Environment {
  private readonly episodes: OutsideEpisodes;
  private readonly formats = new Map<OutsideServer, ActionFormat>();

  constructor(
    private readonly options: OpenEnvOptions,
    { variables = {}, log }: EnvironmentContext,
  ) {
    const connections = connectionsOf(
      {
        named: options.servers,
        variables,
        serversVariable: VARIABLES.servers,
        keysVariable: VARIABLES.keys,
        maxBytes: options.max_answer_mb * 2 ** 20,
      },
      'servers',
    );
    this.episodes = new OutsideEpisodes(connections, options.sessions_per_server, log);
  }

  open({ task, seed }: OpenOptions, { signal }: Deadline): Promise<Reply<EnvironmentSession>> {
    return asOutsideReply(async () => {
      const reset = resetOf(task);
      return this.episodes.begin((place) => this.openAt(place, reset, seed, signal), signal);
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
    const { server } = place;
    const format = await this.formatOf(server, signal);
    const remote = await this.remoteAt(server, signal);
    try {
      const first = await remote.reset(seed, reset, signal);
      const { picture, text, observation } = this.options;
      return await OpenEnvSession.of(first, {
        remote,
        place,
        format,
        frame: { picture, text, observation },
      });
    } catch (error) {
      await remote.close(AbortSignal.timeout(DEADLINES.outsideLeave.ms)).catch(() => undefined);
      throw error;
    }
  }

  private async remoteAt(server: OutsideServer, signal: AbortSignal): Promise<RemoteEnvironment> {
    switch (this.options.transport) {
      case 'websocket':
        return SocketEnvironment.open(server, soon(signal));
      case 'http':
        return new HttpEnvironment(server);
      case 'mcp':
        return new McpEnvironment(server, this.options.first_call);
    }
  }

  /** The action format of a server: queried once, which also tests whether it is reachable. */
  private async formatOf(server: OutsideServer, signal: AbortSignal): Promise<ActionFormat> {
    const { actions, templates, transport } = this.options;
    const health = recordOf(await server.getJson('/health', { signal: soon(signal) }), server.address);
    if (health.status !== 'healthy') {
      throw new OutsideError('crashed', `${server.address} says of its health: "${String(health.status)}"`);
    }
    const known = this.formats.get(server);
    if (known !== undefined) return known;
    const format =
      actions === 'templates' || (actions === 'auto' && templates !== undefined)
        ? templateFormat(templates ?? {})
        : await this.namedFormat(server, signal);
    this.formats.set(server, transport === 'mcp' && format === ownFormat ? ownTools : format);
    return this.formats.get(server)!;
  }

  private async namedFormat(server: OutsideServer, signal: AbortSignal): Promise<ActionFormat> {
    const { actions } = this.options;
    if (actions === 'browsergym') return browserGymFormat;
    if (actions === 'ui-rl') return ownFormat;
    const schema = recordOf(await server.getJson('/schema', { signal: soon(signal) }), server.address);
    const properties = isRecord(schema.action) ? schema.action.properties : undefined;
    if (isRecord(properties) && 'action_str' in properties) return browserGymFormat;
    if (isRecord(properties) && 'action' in properties) return ownFormat;
    const names = isRecord(properties) ? Object.keys(properties).join(', ') : 'nothing';
    throw new OutsideError(
      'bad_task',
      `${server.address} takes actions of ${names}: say in the run file what is sent for an action, environment.kind.templates`,
    );
  }
}

/** This project's own server has one tool per action. */
const ownTools: ActionFormat = ({ action: name, ...given }) => [{ name, arguments: given }];

function soon(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(DEADLINES.outsideReady.ms)]);
}

/** Reset options of a task, besides the seed. @throws OutsideError */
function resetOf({ environment, start }: Task): Record<string, unknown> {
  const { reset = {}, ...unknown } = environment?.options ?? {};
  const [key] = Object.keys(unknown);
  if (key !== undefined) {
    throw new OutsideError(
      'bad_task',
      `environment openenv has no option "${key}" for a task: there is reset`,
    );
  }
  const given = isRecord(reset) ? { ...reset, ...start } : undefined;
  if (given !== undefined && !('seed' in given)) return given;
  throw new OutsideError(
    'bad_task',
    'reset of a task, with its start, is an object without "seed", which the rollout has',
  );
}
