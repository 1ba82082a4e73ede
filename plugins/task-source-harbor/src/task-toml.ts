import { isServerAddress, PluginError, serverAddress, show } from '@ui-rl/plugin-kit';
import { TomlTable } from './toml-table';

/** Versions of task.toml that Harbor 0.25 reads and writes. */
const SCHEMA_VERSIONS = ['1.0', '1.1', '1.2', '1.3', '1.4'];
const NETWORK_MODES = ['public', 'no-network', 'allowlist'] as const;
/** Harbor's default of `[verifier] timeout_sec`. */
const TEST_SECONDS = 600;

export type NetworkMode = (typeof NETWORK_MODES)[number];

/** A server of the Model Context Protocol in task.toml. */
export interface McpServerEntry {
  name: string;
  transport: string;
  url: string | undefined;
  hasHeaders: boolean;
}

/** The fields of task.toml that ui-rl reads. */
export interface TaskToml {
  /** `[task] name`. */
  name: string | undefined;
  /** `[metadata] difficulty`, of any type. */
  difficulty: unknown;
  keywords: readonly string[];
  servers: readonly McpServerEntry[];
  /** Parts of `[environment]` that only a container has: `docker_image`. */
  needsContainer: readonly string[];
  /** Other parts that ui-rl cannot keep, with the reason. */
  unsupported: readonly string[];
  verifier: VerifierToml;
}

/** How tests/test.sh runs. */
export interface VerifierToml {
  timeoutSec: number;
  env: Readonly<Record<string, string>>;
  network: NetworkMode;
  /** Why it cannot run without the container of the task. */
  unsupported: readonly string[];
}

/**
 * Reads the text of a task.toml as Harbor 0.25 does; fields that Harbor does not know are ignored there too.
 *
 * @throws PluginError `option` with the file and the field
 */
export async function parseTaskToml(text: string, file: string): Promise<TaskToml> {
  const root = new TomlTable(await parsed(text, file), file);
  const version = root.text('schema_version') ?? root.text('version');
  if (version !== undefined && !SCHEMA_VERSIONS.includes(version))
    throw root.wrong('schema_version', version, `one of ${SCHEMA_VERSIONS.join(', ')}`);
  const environment = root.table('environment');
  const network = networkOf(environment) ?? legacyNetwork(environment) ?? 'public';
  return {
    name: root.table('task').text('name'),
    difficulty: root.table('metadata').any('difficulty'),
    keywords: root.table('task').texts('keywords') ?? [],
    servers: environment.tables('mcp_servers').map(serverOf),
    needsContainer: containerParts(environment, network),
    unsupported:
      root.tables('steps').length > 0 ? ['[[steps]]: ui-rl plays one instruction per episode'] : [],
    verifier: verifierOf(root.table('verifier'), environment, network),
  };
}

async function parsed(text: string, file: string): Promise<Record<string, unknown>> {
  // Runs without such tasks do not load it.
  const { parse } = await import('smol-toml');
  try {
    return parse(text, { maxDepth: 20 });
  } catch (cause) {
    const [said] = (cause as Error).message.split('\n');
    const { line, column } = cause as { line?: number; column?: number };
    const where = line === undefined ? '' : `, line ${line}, column ${column}`;
    throw new PluginError('option', `tasks: ${file}${where}: ${said}`, { cause });
  }
}

function serverOf(entry: TomlTable): McpServerEntry {
  const name = entry.text('name');
  if (name === undefined) throw entry.wrong('name', undefined, 'a text');
  const transport = entry.text('transport') ?? 'sse';
  const url = entry.text('url');
  if (transport !== 'stdio' && !isServerAddress(url))
    throw entry.wrong('url', url, 'an address such as http://desktop:8000/mcp');
  return {
    name,
    transport: transport === 'http' ? 'streamable-http' : transport,
    url: url === undefined || transport === 'stdio' ? undefined : serverAddress(url),
    hasHeaders: Object.keys(entry.record('headers')).length > 0,
  };
}

function networkOf(table: TomlTable): NetworkMode | undefined {
  const mode = table.text('network_mode');
  if (mode === undefined) return undefined;
  const found = NETWORK_MODES.find((each) => each === mode);
  if (found === undefined) throw table.wrong('network_mode', mode, `one of ${NETWORK_MODES.join(', ')}`);
  return found;
}

/** `allow_internet` of older tasks. */
function legacyNetwork(environment: TomlTable): NetworkMode | undefined {
  const isAllowed = environment.flag('allow_internet');
  if (isAllowed === undefined) return undefined;
  return isAllowed ? 'public' : 'no-network';
}

function containerParts(environment: TomlTable, network: NetworkMode): string[] {
  // Resources of a container that does not exist here; their types are validated all the same.
  for (const name of ['cpus', 'memory_mb', 'storage_mb', 'build_timeout_sec']) environment.number(name);
  const os = environment.text('os')?.toLowerCase();
  const parts: [string, boolean][] = [
    ['docker_image', environment.text('docker_image') !== undefined],
    ['gpus', (environment.number('gpus') ?? 0) > 0],
    ['tpu', environment.has('tpu')],
    ['healthcheck', environment.has('healthcheck')],
    ['env', Object.keys(environment.record('env')).length > 0],
    [`network_mode = "${network}"`, network !== 'public'],
    [`os = "${os}"`, os !== undefined && os !== 'linux'],
  ];
  return parts.filter(([, isSet]) => isSet).map(([name]) => name);
}

function verifierOf(verifier: TomlTable, environment: TomlTable, baseline: NetworkMode): VerifierToml {
  const timeoutSec = verifier.number('timeout_sec') ?? TEST_SECONDS;
  if (timeoutSec <= 0) throw verifier.wrong('timeout_sec', timeoutSec, 'a number greater than 0');
  const env = verifier.record('env');
  const network = networkOf(verifier) ?? baseline;
  const templates = Object.keys(env).filter((name) => env[name].includes('${'));
  const odd = Object.keys(env).filter(
    (name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || env[name].includes('\0'),
  );
  if (odd.length > 0) throw verifier.wrong('env', odd[0], 'names of environment variables');
  const mode = verifier.text('environment_mode');
  const user = verifier.any('user') ?? 'root';
  const os = environment.text('os')?.toLowerCase() ?? 'linux';
  const faults: [string, boolean][] = [
    [
      'the verifier has a separate container ([verifier] environment_mode, [verifier.environment])',
      mode === 'separate' || verifier.has('environment'),
    ],
    ['[[verifier.collect]] runs commands in containers', verifier.tables('collect').length > 0],
    [`[verifier] user = ${show(user)} is a user of the container`, user !== 'root' && user !== 0],
    [
      `[verifier.env] ${templates.join(', ')} would read variables of this machine, which tests never see`,
      templates.length > 0,
    ],
    ['network_mode = "allowlist": ui-rl gives a test the whole network or none', network === 'allowlist'],
    [`os = "${os}": only test.sh runs here`, os !== 'linux'],
  ];
  return { timeoutSec, env, network, unsupported: faults.filter(([, is]) => is).map(([said]) => said) };
}
