import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { loadComponents, loadTasks, openTasks, TaskEntries, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { TaskServer } from '../test/task-server';
import { TaskServers } from './connection';
import { ServedTasks } from './served-tasks';

let server: TaskServer;
let registry: ComponentRegistry;
const log: string[] = [];

const task = (n: number) => ({
  id: `task_${n}`,
  description: `Open number ${n}`,
  max_steps: 5,
  category: n % 2 === 0 ? 'app' : 'settings',
  tags: [n % 2 === 0 ? 'even' : 'odd'],
  environment: { kind: 'browser', options: { url: 'http://shop.example/' } },
  checks: [{ kind: 'url', operator: 'contains', value: `/${n}` }],
});
const list = (count: number) => Array.from({ length: count }, (_, n) => task(n));

beforeAll(async () => {
  server = await TaskServer.start();
  registry = await loadComponents();
});
beforeEach(() => {
  server.reset(list(7));
  log.length = 0;
});
afterAll(() => server.stop());

const machine = (variables: Record<string, string> = {}) => ({
  variables,
  log: (level: string, message: string) => void log.push(`${level} ${message}`),
});
const choice = (options: object = {}) => ({ source_type: 'http', url: `${server.url}/tasks`, ...options });
const load = (options: object = {}, variables: Record<string, string> = {}) =>
  loadTasks(registry, [choice(options)], machine(variables));

/** The source with short delays for tests. */
async function loadFast(policy: { attempts: number }, idleMs = 5_000): Promise<string[]> {
  const tasks = await ServedTasks.open(
    {
      url: new URL(`${server.url}/tasks`),
      etag: undefined,
      maxBytes: 2 ** 20,
      servers: new TaskServers({}),
      log: machine().log,
      policy: { what: '', then: '', firstMs: 1, maxMs: 1, ...policy },
      idleMs,
    },
    new TaskEntries({}, { resolve: () => null }),
  );
  try {
    const ids: string[] = [];
    for await (const some of tasks.read()) ids.push(...some.map(({ id }) => id!));
    return ids;
  } finally {
    await tasks.close();
  }
}

describe.each(['json', 'list', 'lines'] as const)('a list as %s', (form) => {
  it.each([0, 3, 7])('in pages of %s tasks', async (size) => {
    Object.assign(server, { form, size });
    const tasks = await load();
    expect(tasks.map(({ id }) => id)).toEqual(list(7).map(({ id }) => id));
    expect(tasks[6]).toEqual({
      ...{ id: 'task_6', description: 'Open number 6', maxSteps: 5, category: 'app', tags: ['even'] },
      environment: { kind: 'browser', options: { url: 'http://shop.example/' } },
      checks: [{ kind: 'url', operator: 'contains', value: '/6' }],
    });
    expect(server.asked).toHaveLength(size === 3 ? 3 : 1);
  });
});

it('is filtered, divided, limited, completed and weighted as every source', async () => {
  server.reset([...list(200), { task_prompt: 'Complete the form', max_steps_per_episode: 9 }, 'Enable wifi']);
  Object.assign(server, { form: 'lines', size: 50 });
  const odd = await openTasks(
    registry,
    [choice({ tags: ['odd'], seed: 3, limit: 10, weight: 2 })],
    machine(),
  );
  expect(odd.length).toBe(10);
  expect(odd.parts[0]).toMatchObject({ sourceType: 'http', weight: 2 });
  const last = await odd.at(9);
  expect(await odd.placeOf(last.id)).toBe(9);
  await odd.close();
  const sides = await Promise.all(['train', 'eval'].map((part) => load({ part, eval_share: 0.3 })));
  expect(sides[0].length + sides[1].length).toBe(202);
  expect(sides[1].length).toBeGreaterThan(30);
  const all = await load({ max_steps: 7 });
  expect(all[200]).toEqual({ id: 'complete_the_form', description: 'Complete the form', maxSteps: 9 });
  expect(all[201]).toMatchObject({ description: 'Turn on Wi-Fi', source: 'demo' });
});

it('is asked for whole again where a page leads to a list that has changed meanwhile', async () => {
  server.size = 3;
  server.next.push(server.serve.bind(server), (request, response, place) => {
    Object.assign(server, { version: '"v2"', tasks: list(8).slice(1) });
    server.serve(request, response, place);
  });
  expect((await load()).map(({ id }) => id)).toEqual(
    list(8)
      .slice(1)
      .map(({ id }) => id),
  );
  expect(log).toContainEqual(expect.stringMatching(/^info .*was changed while it was read/));
});

it('is of the version that the run file names, or refused', async () => {
  expect(await load({ etag: 'v1' })).toHaveLength(7);
  expect(server.asked[0].etag).toBe('"v1"');
  await expect(load({ etag: '"v0"' })).rejects.toThrow(
    /is no longer of version "v0" \(etag\).*412: another version/,
  );
  // A server that ignores `If-Match`.
  server.next.push((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]'),
  );
  await expect(load({ etag: 'v1' })).rejects.toThrow(/is of version unknown \(no ETag\), expected "v1"/);
});

describe('allowed servers', () => {
  it.each([
    [
      'http://tasks.example/list',
      {},
      /tasks\.example may not be asked: TASK_SERVERS is not set.*TASK_SERVERS=http/,
    ],
    ['http://169.254.169.254/latest', {}, /169\.254\.169\.254 may not be asked/],
    [
      'http://127.0.0.1:1/tasks',
      { TASK_SERVERS: 'http://127.0.0.1:2' },
      /TASK_SERVERS of this machine allows http:\/\/127\.0\.0\.1:2/,
    ],
    [
      'http://127.0.0.1:2/lists/../other',
      { TASK_SERVERS: 'http://127.0.0.1:2/lists' },
      /127\.0\.0\.1:2\/other may not be asked/,
    ],
    ['http://127.0.0.1:2/lists-too', { TASK_SERVERS: 'http://127.0.0.1:2/lists' }, /may not be asked/],
    [
      'http://127.0.0.1:2/',
      { TASK_SERVERS: 'tasks.example' },
      /TASK_SERVERS has "tasks\.example", expected http/,
    ],
    [
      'http://127.0.0.1:2/',
      { TASK_SERVER_KEYS: 'hush' },
      /TASK_SERVER_KEYS: expected http:\/\/host:port=key/,
    ],
  ])('%s with %j is refused', async (url, variables, message) => {
    const refusal = load({ url }, variables);
    await expect(refusal).rejects.toThrow(message);
    await expect(refusal).rejects.not.toThrow('hush');
    expect(server.asked).toEqual([]);
  });

  it('is shown its own key, and no other server', async () => {
    const key = 'a-key-of-this-server';
    const keys = { TASK_SERVER_KEYS: `http://other.example=other-key,${server.url}=${key}` };
    await load({}, { TASK_SERVERS: `${server.url}/tasks`, ...keys });
    expect(server.asked[0].key).toBe(`Bearer ${key}`);
    await load({}, { TASK_SERVER_KEYS: 'http://other.example=other-key' });
    expect(server.asked[1].key).toBeUndefined();
    server.next.push((_request, response) => response.writeHead(401).end('who are you?'));
    await expect(load()).rejects.toThrow(
      /answered 401: who are you\? \(TASK_SERVER_KEYS has no key for http/,
    );
    server.next.push((_request, response) => response.writeHead(403).end());
    const refusal = load({}, keys);
    await expect(refusal).rejects.toThrow(/answered 403: nothing more \(the key of TASK_SERVER_KEYS\)/);
    await expect(refusal).rejects.not.toThrow(key);
  });

  it.each([
    ['http://other.example/tasks', /expected an address of http:\/\/127\.0\.0\.1/],
    ['/elsewhere', /\/elsewhere may not be asked/],
    ['/tasks', /tasks is its own next page/],
    [7, /has 7 as "next", expected an address/],
  ])('a next page %j is not followed', async (next, message) => {
    server.next.push((_request, response) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ tasks: list(1), next })),
    );
    await expect(load({}, { TASK_SERVERS: `${server.url}/tasks` })).rejects.toThrow(message);
    expect(server.asked).toHaveLength(1);
  });

  it('a redirect is not followed', async () => {
    server.next.push((_request, response) =>
      response.writeHead(302, { location: 'http://x.example/' }).end(),
    );
    await expect(load()).rejects.toThrow(
      /answered 302 and leads to http:\/\/x\.example\/, which is not followed/,
    );
  });
});

describe('a server that fails', () => {
  it('is asked again, from the beginning of the page', async () => {
    Object.assign(server, { form: 'lines', size: 4 });
    server.next.push(
      (_request, response) => response.writeHead(503).end('later'),
      server.serve.bind(server),
      // Breaks off within the second page.
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/x-ndjson', 'content-length': 1000 });
        response.write(`${JSON.stringify(task(90))}\n`, () => response.destroy());
      },
      (request) => request.socket.destroy(),
    );
    expect(await loadFast({ attempts: 3 })).toEqual(list(7).map(({ id }) => id));
    expect(server.asked).toHaveLength(5);
  });

  it('ends the start with what it said last, after so many attempts', async () => {
    const busy = (
      _request: unknown,
      response: { writeHead(status: number): { end(text: string): unknown } },
    ) => void response.writeHead(500).end('out of order\u0007');
    server.next.push(busy, busy, busy);
    await expect(loadFast({ attempts: 2 })).rejects.toThrow(/\/tasks answered 500: out of order$/);
    expect(server.asked).toHaveLength(2);
  });

  it('that is silent is given up', async () => {
    server.next.push(
      () => undefined,
      (_request, response) =>
        void response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{'),
    );
    await expect(loadFast({ attempts: 2 }, 50)).rejects.toThrow(/\/tasks gave no answer in time/);
  });

  it('that is not there is named', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const { url } = server;
    server.url = `http://127.0.0.1:${port}`;
    try {
      await expect(loadFast({ attempts: 2 })).rejects.toThrow(
        /127\.0\.0\.1:\d+\/tasks cannot be reached: ECONNREFUSED/,
      );
    } finally {
      server.url = url;
    }
  });
});

describe('an answer that is not a list', () => {
  const answers = (type: string, body: string, headers: Record<string, string> = {}) =>
    server.next.push((_request, response) =>
      response.writeHead(200, { 'content-type': type, ...headers }).end(body),
    );
  const lines = 'application/x-ndjson';

  it.each([
    ['text/html', '<html>', /answered text\/html, expected application\/json .* or application\/x-ndjson/],
    ['application/json', '{"tasks": 7}', /answered \{"tasks":7\}, expected a list of tasks, or/],
    ['application/json', '[{"id"', /tasks is not JSON: .*; it begins with \[\{"id"/],
    ['application/json', '[]', /\/tasks has no task/],
    ['application/json', '[7]', /\/tasks, task 1: expected a task, found 7/],
    ['application/json', '[{"id": "a"}]', /\/tasks, task 1: description is nothing, expected a text/],
    [
      'application/json',
      '["Bake a cake"]',
      /\/tasks, task 1 is "Bake a cake", which no task source understands/,
    ],
    [lines, '{"description": "b"}\n\n{"id"', /\/tasks, line 3 is not JSON/],
    [lines, '{"id": "a", "description": "b", "max_step": 3}', /line 1: unknown field "max_step".*maxSteps/],
    [
      lines,
      '{"id": "a", "description": "b"}\n{"id": "a", "description": "c"}',
      /the id "a" comes twice: .*line 1, and .*line 2/,
    ],
    [lines, `"${'x'.repeat(2 ** 20)}"\n`.repeat(2), /longer than 1 MiB \(max_mb\)/],
  ])('%s %.30s', async (type, body, message) => {
    answers(type, body);
    await expect(load({ max_mb: 1 })).rejects.toThrow(message);
    expect(server.asked).toHaveLength(1);
  });

  it('is reported with the page that it stands on', async () => {
    server.reset([...list(4), { id: 'x' }]);
    Object.assign(server, { size: 3, form: 'lines' });
    await expect(load()).rejects.toThrow(/cursor=%22v1%22%2F3, line 2: description is nothing/);
  });

  it('nor one that is packed, or not there', async () => {
    answers('application/json', '', { 'content-encoding': 'gzip' });
    await expect(load()).rejects.toThrow(/content-encoding gzip, which was not asked for/);
    server.next.push((_request, response) => response.writeHead(404).end('no such list'));
    await expect(load()).rejects.toThrow(/\/tasks answered 404: no such list/);
    expect(server.asked).toHaveLength(2);
  });

  it.each(['ftp://host/list', 'http://user:word@host/', 'http://host/#part', 'host/list'])(
    'an address %s is refused with the option',
    async (url) => {
      await expect(load({ url })).rejects.toThrow(
        /url is .*expected an address such as http:\/\/host:8000\/tasks/,
      );
    },
  );
});
