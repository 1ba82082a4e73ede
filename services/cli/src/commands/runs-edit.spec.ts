import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runsCommand } from './runs';

interface Asked {
  method: string | undefined;
  path: string | undefined;
  token: string | undefined;
  body: unknown;
}

const LABELS = { name: 'Wide\u001b[2J', notes: 'one\ntwo', tags: ['paper', 'seed 2'], archived: true };

let server: Server;
let monitor: string;
let asked: Asked[];
let printed: string[];
const environment = process.env;

/** Answers as the monitor does (docs/reference/http.md). */
beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      asked.push({ method, path, token: headers.authorization, body: JSON.parse(text) });
      if (path === '/api/runs/wide') response.end(JSON.stringify(LABELS));
      else
        response.writeHead(400).end(JSON.stringify({ statusCode: 400, message: ['too long', 'too many'] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  monitor = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

beforeEach(() => {
  asked = [];
  printed = [];
  process.env = { ...environment, MONITOR_TOKEN: 'a-token-of-the-lab' };
  jest.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text));
});
afterEach(() => {
  process.env = environment;
  jest.restoreAllMocks();
});

async function edit(...args: string[]): Promise<string> {
  await runsCommand().parseAsync(['edit', ...args, '--monitor', `${monitor}/`], { from: 'user' });
  return printed.join('\n');
}

test('an edit sends what is given with the token, and prints what the monitor has now', async () => {
  const said = await edit(
    'wide',
    '--name',
    'Wide',
    '--tags',
    ' paper, seed 2,',
    '--notes',
    'one\ntwo',
    '--archive',
  );
  expect(asked).toEqual([
    {
      ...{ method: 'PATCH', path: '/api/runs/wide', token: 'Bearer a-token-of-the-lab' },
      body: { name: 'Wide', notes: 'one\ntwo', tags: ['paper', 'seed 2'], archived: true },
    },
  ]);
  // A terminal must not obey text that a reader typed into the page.
  expect(said).not.toContain('\u001b');
  expect(said.split('\n')).toEqual([
    'run wide (archived)',
    expect.stringMatching(/^name Wide/),
    'tags paper, seed 2',
    'one',
    'two',
  ]);
});

test('labels that are not given stay, and empty texts remove', async () => {
  expect(JSON.parse(await edit('wide', '--name', '', '--tags', '', '--no-archive', '--json'))).toEqual(
    LABELS,
  );
  expect(asked.map(({ body }) => body)).toEqual([{ name: '', tags: [], archived: false }]);
});

test('an edit without changes, and one that the monitor refuses, say what to do', async () => {
  await expect(edit('wide')).rejects.toThrow(/no change given: expected --name, --notes, --tags, --archive/);
  expect(asked).toEqual([]);
  await expect(edit('narrow', '--name', 'x')).rejects.toThrow(/status 400: too long, too many/);
});
