import { join } from 'node:path';
import { PluginError, serverAddress, TASK_DIFFICULTIES, type Task } from '@ui-rl/plugin-kit';
import type { HarborOptions } from './options';
import { readHarborFolders, type HarborFolder } from './task-folders';
import type { McpServerEntry } from './task-toml';

/** Longest goal of a task of ui-rl. */
const LONGEST_GOAL = 4_000;
/** Lines that mark the files of a benchmark, at the beginning of an instruction. Harbor does not show them either. */
const CANARY = /^(<!--.*canary.*-->|#.*canary.*)$/i;

/**
 * The tasks of a folder, each in the environment `mcp`.
 *
 * @throws PluginError `option` that names the task, the part that ui-rl cannot keep, and a way out
 */
export async function harborTasks(options: HarborOptions): Promise<Task[]> {
  const folders = await readHarborFolders(options.path);
  const unknown = Object.keys(options.servers).find(
    (name) =>
      !folders.some((each) => each.id === name || each.toml.servers.some(({ url }) => isAt(url, name))),
  );
  if (unknown !== undefined)
    throw new PluginError(
      'option',
      `tasks: servers names "${unknown}", neither a task nor an address of one`,
    );
  return folders.map((folder) => taskOf(folder, options));
}

function taskOf(folder: HarborFolder, options: HarborOptions): Task {
  const { id, toml } = folder;
  refuseUnsupported(folder, options);
  const difficulty = TASK_DIFFICULTIES.find((each) => each === toml.difficulty);
  return {
    id,
    description: goalOf(folder, options.extra_instructions),
    ...(difficulty === undefined ? {} : { difficulty }),
    ...(toml.keywords.length === 0
      ? {}
      : { tags: toml.keywords.map((each) => each.slice(0, 100)).slice(0, 100) }),
    ...(options.max_steps === undefined ? {} : { maxSteps: options.max_steps }),
    environment: { kind: 'mcp', options: { servers: addressesOf(folder, options) } },
  };
}

function refuseUnsupported({ folder, toml, ...found }: HarborFolder, { started }: HarborOptions): void {
  const [never] = [
    ...toml.unsupported,
    ...(found.hasTrajectory ? ['trajectory.json: ui-rl begins each episode without earlier turns'] : []),
  ];
  if (never !== undefined) throw refused(folder, `has ${never}. Leave the task out`);
  const container = [...toml.needsContainer.map((name) => `[environment] ${name}`), ...found.containerFiles];
  if (started || container.length === 0) return;
  throw refused(
    folder,
    `needs a container (${container.join(', ')}), and ui-rl starts none: start it yourself from ${join(folder, 'environment')}, ` +
      'publish the port of its MCP server, name the address in environment.kind.servers, and set the option started',
  );
}

function goalOf({ folder, instruction }: HarborFolder, extra: string | undefined): string {
  const lines = (instruction ?? '').split(/\r?\n/);
  const first = lines.findIndex((line) => !CANARY.test(line.trim()));
  const own = first < 0 ? '' : lines.slice(first).join('\n').trim();
  if (own === '') throw refused(folder, 'has no text in instruction.md');
  const goal = extra === undefined ? own : `${own}\n\n${extra}`;
  if (goal.length <= LONGEST_GOAL) return goal;
  throw refused(
    folder,
    `has an instruction of ${goal.length} characters, expected at most ${LONGEST_GOAL}: shorten instruction.md`,
  );
}

function addressesOf({ id, folder, toml }: HarborFolder, options: HarborOptions): string[] {
  const { url } = serverFor(folder, toml.servers, options.server);
  const given = Object.entries(options.servers);
  const [, addresses] = given.find(([name]) => name === id) ?? given.find(([name]) => isAt(url, name)) ?? [];
  return (addresses ?? [url]).map((each) => serverAddress(each));
}

function serverFor(
  folder: string,
  servers: readonly McpServerEntry[],
  name: string | undefined,
): McpServerEntry & { url: string } {
  const names = servers.map((each) => each.name).join(', ');
  if (servers.length === 0) {
    throw refused(
      folder,
      'has no [[environment.mcp_servers]], and ui-rl operates screens only: add the MCP server of its desktop',
    );
  }
  const chosen =
    servers.length === 1 && name === undefined ? servers : servers.filter((each) => each.name === name);
  if (chosen.length !== 1) {
    const found = name === undefined ? 'several MCP servers' : `${chosen.length} MCP servers "${name}"`;
    throw refused(
      folder,
      `has ${found} (${names}): name the one that operates the screen with the option server`,
    );
  }
  const [{ transport, url, hasHeaders }] = chosen;
  if (transport !== 'streamable-http' || url === undefined) {
    throw refused(
      folder,
      `has an MCP server with transport "${transport}", expected "streamable-http": serve it so, such as with FastMCP's run(transport="streamable-http")`,
    );
  }
  if (hasHeaders) {
    throw refused(
      folder,
      'has headers of its MCP server, which ui-rl does not send: set the key as MCP_KEYS where the env service runs, and remove them',
    );
  }
  return { ...chosen[0], url };
}

function isAt(url: string | undefined, name: string): boolean {
  return url !== undefined && URL.canParse(name) && serverAddress(name) === url;
}

function refused(folder: string, message: string): PluginError {
  return new PluginError('option', `tasks: ${folder} ${message}`);
}
