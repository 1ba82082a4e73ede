import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, openTasks, type Task } from '@ui-rl/plugin-kit';
import { FILES, writeTask } from '../test/write-task';
import { harbor } from './index';
import { HarborOptions } from './options';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'harbor-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const TOML = FILES['task.toml'];

async function load(options: Partial<HarborOptions> = {}): Promise<Task[]> {
  const context = { log: () => undefined, resolve: () => null };
  return harbor.create(Object.assign(new HarborOptions(), { path: folder, ...options }), context).load({
    deadlineAt: Infinity,
    signal: new AbortController().signal,
  });
}

/** Loads a task with this change of its task.toml. */
function withToml(change: (toml: string) => string, options: Partial<HarborOptions> = {}): Promise<Task[]> {
  writeTask(folder, { 'task.toml': change(TOML) });
  return load(options);
}

const environment = (line: string) => withToml((toml) => toml.replace('network_mode = "public"', line));

it('reads a task folder, or all of a folder, in the environment of their MCP server', async () => {
  writeTask(join(folder, 'read'));
  writeTask(join(folder, 'also'), {
    'task.toml': TOML.replace('name = "uirl/read-code"', '').replace(
      'transport = "streamable-http"',
      'transport = "http"',
    ),
    'instruction.md': 'Close the window.',
  });
  mkdirSync(join(folder, 'nothing'));
  const tasks = await load({ max_steps: 9, extra_instructions: 'Finish with the code as your answer.' });
  const played = { kind: 'mcp', options: { servers: ['http://desktop:8000/mcp'] } };
  expect(tasks).toEqual([
    {
      ...{ id: 'also', difficulty: 'easy', tags: ['desktop'], maxSteps: 9, environment: played },
      description: 'Close the window.\n\nFinish with the code as your answer.',
    },
    {
      ...{ id: 'uirl/read-code', difficulty: 'easy', tags: ['desktop'], maxSteps: 9, environment: played },
      description:
        'Read the code on the screen and write it to /app/code.txt.\n\nFinish with the code as your answer.',
    },
  ]);
  expect(await load({ path: join(folder, 'also') })).toHaveLength(1);
});

it('is a source of a run like any other', async () => {
  writeTask(folder);
  const components = await loadComponents({ service: 'task-loader' });
  const choice = { source_type: 'harbor', path: folder };
  const machine = { log: () => undefined, variables: () => ({}) };
  const tasks = await openTasks(components, [choice] as never, machine as never);
  expect(tasks.length).toBe(1);
  await tasks.close();
});

it('plays tasks where the option servers says, by task or by address', async () => {
  writeTask(join(folder, 'one'), { 'task.toml': TOML.replace('read-code', 'one') });
  writeTask(join(folder, 'two'), { 'task.toml': TOML.replace('read-code', 'two') });
  const [here, there] = [
    ['http://127.0.0.1:8001/mcp', 'http://127.0.0.1:8002/mcp/'],
    ['http://127.0.0.1:9/mcp'],
  ];
  const tasks = await load({ servers: { 'http://desktop:8000/mcp/': here, 'uirl/two': there } });
  expect(tasks.map((task) => task.environment!.options.servers)).toEqual([
    ['http://127.0.0.1:8001/mcp', 'http://127.0.0.1:8002/mcp'],
    ['http://127.0.0.1:9/mcp'],
  ]);
  await expect(load({ servers: { 'http://desk:8000/mcp': there } })).rejects.toThrow(
    /servers names "http:\/\/desk:8000\/mcp", neither a task nor an address of one/,
  );
});

it('takes the named one of several servers', async () => {
  const more = '[[environment.mcp_servers]]\nname = "shell"\ntransport = "stdio"\ncommand = "sh"\n';
  await expect(withToml((toml) => toml + more)).rejects.toThrow(
    /has several MCP servers \(desktop, shell\): name the one .* option server/,
  );
  expect(await load({ server: 'desktop' })).toHaveLength(1);
  await expect(load({ server: 'shell' })).rejects.toThrow(/transport "stdio", expected "streamable-http"/);
  await expect(load({ server: 'other' })).rejects.toThrow(/has 0 MCP servers "other" \(desktop, shell\)/);
});

describe('a task that needs a container', () => {
  it.each([
    ['docker_image = "ubuntu:24.04"', 'docker_image'],
    ['gpus = 1', 'gpus'],
    ['tpu = { type = "v6e", topology = "2x4" }', 'tpu'],
    ['env = { A = "b" }', 'env'],
    ['healthcheck = { command = "true" }', 'healthcheck'],
    ['network_mode = "no-network"', 'network_mode = "no-network"'],
    ['network_mode = "allowlist"', 'network_mode = "allowlist"'],
    ['allow_internet = false', 'network_mode = "no-network"'],
    ['os = "Windows"', 'os = "windows"'],
  ])('%s is rejected, unless its environment is running', async (line, named) => {
    await expect(environment(line)).rejects.toThrow(
      `needs a container ([environment] ${named}), and ui-rl starts none: start it yourself`,
    );
    expect(await load({ started: true })).toHaveLength(1);
  });

  it.each(['Dockerfile', 'docker-compose.yaml'])('environment/%s too', async (name) => {
    writeTask(folder, { [`environment/${name}`]: 'FROM scratch' });
    await expect(load()).rejects.toThrow(`needs a container (environment/${name})`);
    expect(await load({ started: true })).toHaveLength(1);
  });

  it('is not one that has only resources of a container', async () => {
    expect(await environment('storage_mb = 10240\nbuild_timeout_sec = 600.0\ngpus = 0')).toHaveLength(1);
  });
});

describe('a task that ui-rl cannot play', () => {
  it.each<[string, Record<string, string | null>, RegExp]>([
    [
      'several steps',
      { 'task.toml': `${TOML}\n[[steps]]\nname = "one"\n` },
      /has \[\[steps\]\]: ui-rl plays one instruction/,
    ],
    ['an earlier trajectory', { 'trajectory.json': '{}' }, /has trajectory\.json/],
    ['no instruction', { 'instruction.md': null }, /has no text in instruction\.md/],
    ['only a canary', { 'instruction.md': '# canary\n\n' }, /has no text in instruction\.md/],
    ['a long one', { 'instruction.md': 'x'.repeat(4_001) }, /4001 characters, expected at most 4000/],
    ['a huge one', { 'instruction.md': 'x'.repeat(70_000) }, /70000 bytes, expected at most 65536/],
    [
      'no server',
      { 'task.toml': TOML.slice(0, TOML.indexOf('[[environment')) },
      /has no \[\[environment\.mcp_servers\]\]/,
    ],
    [
      'the default transport',
      { 'task.toml': TOML.replace('transport = "streamable-http"', '') },
      /transport "sse", expected "streamable-http"/,
    ],
    [
      'headers',
      { 'task.toml': `${TOML}headers = { Authorization = "Bearer x" }\n` },
      /headers of its MCP server.*MCP_KEYS/,
    ],
    [
      'a newer version',
      { 'task.toml': TOML.replace('"1.1"', '"2.0"') },
      /schema_version is "2\.0", expected one of 1\.0, 1\.1/,
    ],
    [
      'an older name of it',
      { 'task.toml': TOML.replace('schema_version = "1.1"', 'version = "0.9"') },
      /schema_version is "0\.9"/,
    ],
  ])('%s', async (_, changes, message) => {
    writeTask(folder, changes);
    await expect(load({ started: true })).rejects.toThrow(message);
  });

  it.each([
    [TOML.replace('cpus = 1', 'cpus = "two"'), /environment\.cpus is "two", expected a number/],
    [TOML.replace('cpus = 1', 'cpus = nan'), /environment\.cpus is null, expected a number/],
    [
      TOML.replace('"public"', '"open"'),
      /environment\.network_mode is "open", expected one of public, no-network, allowlist/,
    ],
    [
      TOML.replace('http://desktop:8000/mcp', 'desktop'),
      /environment\.mcp_servers\[0\]\.url is "desktop", expected an address/,
    ],
    [TOML.replace('name = "desktop"', ''), /environment\.mcp_servers\[0\]\.name is nothing, expected a text/],
    [
      TOML.replace('keywords = ["desktop"]', 'keywords = [1]'),
      /task\.keywords is \[1\], expected a list of texts/,
    ],
    [
      TOML.replace('timeout_sec = 60.0', 'timeout_sec = 0'),
      /verifier\.timeout_sec is 0, expected a number greater than 0/,
    ],
    ['environment = 5', /environment is 5, expected a table/],
    ['[environment]\nmcp_servers = [1]', /environment\.mcp_servers is \[1\], expected a list of tables/],
    ['schema_version = 1.1', /schema_version is 1\.1, expected a text/],
    [TOML.slice(0, -20), /task\.toml, line 24, column \d+: Invalid TOML document/],
    ['a = "', /task\.toml, line 1, column \d+: Invalid TOML document/],
    [`a = ${'['.repeat(5_000)}`, /Invalid TOML document/],
    ['#'.repeat(2 ** 18 + 1), /262145 bytes, expected at most 262144/],
  ])('task.toml %#', async (toml, message) => {
    writeTask(folder, { 'task.toml': toml });
    await expect(load()).rejects.toThrow(message);
  });

  it('a text in another encoding', async () => {
    writeTask(folder);
    writeFileSync(join(folder, 'instruction.md'), Buffer.from([0xff, 0xfe, 0x41]));
    await expect(load()).rejects.toThrow(/instruction\.md cannot be read as UTF-8/);
  });

  it('an id of two tasks', async () => {
    writeTask(join(folder, 'a'));
    writeTask(join(folder, 'b'));
    await expect(load()).rejects.toThrow(/the id "uirl\/read-code" comes twice: .*a and .*b/);
  });

  it('a folder without tasks, or none', async () => {
    await expect(load()).rejects.toThrow(/no folder with a task\.toml, expected a task folder of Harbor/);
    await expect(load({ path: join(folder, 'absent') })).rejects.toThrow(/absent cannot be read/);
    mkdirSync(join(folder, 'task.toml'));
    await expect(load()).rejects.toThrow(/task\.toml is not a file/);
  });

  it('a link that leaves its folder, because its target would be uploaded', async () => {
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'hush');
    for (const [target, at] of [
      [secret, 'tests/key'],
      [folder, 'environment/all'],
      ['../../secret', 'solution/key'],
      ['absent', 'tests/none'],
    ]) {
      const task = mkdtempSync(join(folder, 'task-'));
      writeTask(task);
      symlinkSync(target, join(task, at));
      await expect(load({ path: task })).rejects.toThrow(
        /is a link to .*, expected files of the task folder only/,
      );
    }
    const task = writeTask(join(folder, 'own'), { 'instruction.md': null });
    writeFileSync(join(task, 'goal.md'), 'Close it.');
    symlinkSync('goal.md', join(task, 'instruction.md'));
    expect(await load({ path: task })).toMatchObject([{ description: 'Close it.' }]);
  });
});
