import { isRecord, OutsideError, type EnvironmentContext, type OutsideServer } from '@ui-rl/plugin-kit';
import { browserGymFormat, ownFormat, ownTools, templateFormat, type ActionFormat } from './action-format';
import { HttpEnvironment } from './http-environment';
import { McpEnvironment } from './mcp-environment';
import type { OpenEnvOptions } from './options';
import { recordOf, type RemoteEnvironment } from './remote';
import { RemoteEnvironments, soon } from './remote-environments';
import { SocketEnvironment } from './socket-environment';

/** Environment variables of the machine: allowed servers, and their keys. */
export const VARIABLES = { servers: 'OPENENV_SERVERS', keys: 'OPENENV_KEYS' } as const;

/** Environments of OpenEnv servers. */
export function openEnvironments(options: OpenEnvOptions, context: EnvironmentContext): RemoteEnvironments {
  const formats = new ServerFormats(options);
  const kind = { name: 'openenv', variables: VARIABLES };
  return new RemoteEnvironments(kind, options, options, context, async (server, signal) => {
    const format = await formats.of(server, signal);
    return { format, remote: await remoteAt(server, options, signal) };
  });
}

async function remoteAt(
  server: OutsideServer,
  { transport, first_call: firstCall }: OpenEnvOptions,
  signal: AbortSignal,
): Promise<RemoteEnvironment> {
  switch (transport) {
    case 'websocket':
      return SocketEnvironment.open(server, soon(signal));
    case 'http':
      return new HttpEnvironment(server);
    case 'mcp':
      return new McpEnvironment(server, firstCall);
  }
}

/** The action formats of servers: each is queried once. */
class ServerFormats {
  private readonly known = new Map<OutsideServer, ActionFormat>();

  constructor(private readonly options: OpenEnvOptions) {}

  /** Also tests whether the server is reachable. */
  async of(server: OutsideServer, signal: AbortSignal): Promise<ActionFormat> {
    const { actions, templates, transport } = this.options;
    const health = recordOf(await server.getJson('/health', { signal: soon(signal) }), server.address);
    if (health.status !== 'healthy') {
      throw new OutsideError('crashed', `${server.address} says of its health: "${String(health.status)}"`);
    }
    const known = this.known.get(server);
    if (known !== undefined) return known;
    const format =
      actions === 'templates' || (actions === 'auto' && templates !== undefined)
        ? templateFormat(templates ?? {})
        : await this.namedFormat(server, signal);
    this.known.set(server, transport === 'mcp' && format === ownFormat ? ownTools : format);
    return this.known.get(server)!;
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
