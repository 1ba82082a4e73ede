import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadComponents, loadTasks, openTasks, type ComponentRegistry } from '@ui-rl/plugin-kit';

let folder: string;
let registry: ComponentRegistry;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-tasks-'));
  registry = await loadComponents();
});
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const load = (path: string, options = {}) => loadTasks(registry, [{ source_type: 'file', path, ...options }]);

const YAML = `
- id: open_cart
  description: Open the cart
  max_steps: 5
  tags: [cart, web]
  environment: { kind: browser, options: { url: 'http://shop.example/' } }
  checks: [{ path: url, operator: contains, value: /cart }]
- { id: open_help, description: Open the help }
`;
const TASKS = [
  {
    id: 'open_cart',
    description: 'Open the cart',
    maxSteps: 5,
    tags: ['cart', 'web'],
    environment: { kind: 'browser', options: { url: 'http://shop.example/' } },
    checks: [{ path: 'url', operator: 'contains', value: '/cart' }],
  },
  { id: 'open_help', description: 'Open the help' },
];
const CSV = `id,description,max_steps,tags,environment,verifier
open_cart,Open the cart,5,cart;web,"{""kind"":""browser"",""options"":{""url"":""http://shop.example/""}}","[{""path"":""url"",""operator"":""contains"",""value"":""/cart""}]"

open_help,Open the help,,,,
`;

it.each([
  ['tasks.yaml', YAML],
  ['tasks.json', JSON.stringify(TASKS, null, 2)],
  ['in-a-field.json', JSON.stringify({ tasks: TASKS })],
  ['tasks.jsonl', `${TASKS.map((task) => JSON.stringify(task)).join('\n\n')}\n`],
  ['windows.JSONL', TASKS.map((task) => JSON.stringify(task)).join('\r\n')],
  ['byte-order.jsonl', `\uFEFF${TASKS.map((task) => JSON.stringify(task)).join('\n')}`],
  ['tasks.csv', CSV],
  ['byte-order.csv', `\uFEFF${CSV.replaceAll('\n', '\r\n')}`],
  ['tasks.tsv', 'id\tdescription\nopen_help\tOpen the help'],
])('reads %s', async (name, text) => {
  expect(await load(write(name, text))).toEqual(name.endsWith('tsv') ? TASKS.slice(1) : TASKS);
});

it('reads sentences, one a line, as tasks of any environment that understands them, else of the environment of the source', async () => {
  const path = write(
    'goals.txt',
    '# For the phone\nEnable wifi\r\n\n  Book a flight to Oslo  \nÄpfel kaufen',
  );
  const environment = { kind: 'browser', options: { url: 'http://shop.example/' } };
  const tasks = await load(path, { environment, max_steps: 7 });
  expect(tasks[0]).toMatchObject({ id: 'demo_turn_on_wi_fi', description: 'Turn on Wi-Fi', source: 'demo' });
  const own = { maxSteps: 7, environment };
  expect(tasks.slice(1)).toEqual([
    { id: 'book_a_flight_to_oslo', description: 'Book a flight to Oslo', ...own },
    { id: expect.stringMatching(/^pfel_kaufen_[0-9a-f]{8}$/), description: 'Äpfel kaufen', ...own },
  ]);
  await expect(load(path)).rejects.toThrow(
    /goals\.txt, line 4 is "Book a flight to Oslo", which no task source understands.*option environment/,
  );
});

it('reads a list as UI-RL writes it, and sentences of the run file itself', async () => {
  const prompt = { task_prompt: 'Complete the form', max_steps_per_episode: 50 };
  const complete = { id: 'complete_the_form', description: 'Complete the form', maxSteps: 50 };
  expect(await load(write('eval_tasks.json', JSON.stringify([prompt])))).toEqual([complete]);
  const typed = write('typed.json', JSON.stringify([{ ...prompt, session_type: 'shop' }]));
  const kind = 'ui-verifiers';
  expect(await load(typed, { environment: { kind } })).toEqual([
    { ...complete, environment: { kind, options: { session_type: 'shop' } } },
  ]);
  // If the run uses such sessions, the list is complete.
  const source = { source_type: 'file', path: typed };
  expect(await loadTasks(registry, [source], {}, { environment: kind })).toEqual([
    { ...complete, environment: { kind, options: { session_type: 'shop' } } },
  ]);
  await expect(loadTasks(registry, [source], {}, { environment: 'browser' })).rejects.toThrow(
    /session_type is "shop", an option of the environment, but the run plays in browser, which has none: write/,
  );
  await expect(load(typed)).rejects.toThrow(
    /typed\.json, task 1: session_type is "shop", an option of the environment, but none is named: write environment: \{kind: ui-verifiers\}/,
  );
  await expect(load(typed, { environment: { kind, options: { session_type: 'a' } } })).rejects.toThrow(
    /session_type is "shop", but environment\.options is \{"session_type":"a"\}/,
  );
  const custom = { source_type: 'custom', custom_tasks: ['Play Moon', prompt, TASKS[1]] };
  const tasks = await loadTasks(registry, [custom]);
  expect(tasks.map(({ description }) => description)).toEqual([
    'Play Moon',
    'Complete the form',
    'Open the help',
  ]);
  const wrong = { source_type: 'custom', custom_tasks: ['Bake a cake'] };
  await expect(loadTasks(registry, [wrong])).rejects.toThrow('custom_tasks[0] is "Bake a cake"');
});

it('reads all task files of a folder, in the order of their names', async () => {
  const line = (id: string) => `${JSON.stringify({ id, description: `Open ${id}` })}\n`;
  write('many/b.jsonl', line('b1') + line('b2'));
  write('many/a/deep.yaml', '- { id: a, description: Open a }');
  write('many/notes.md', 'nothing');
  write('many/.hidden.jsonl', line('h'));
  const choice = { source_type: 'directory', path: join(folder, 'many') };
  const tasks = await openTasks(registry, [choice]);
  expect(tasks.length).toBe(3);
  expect([(await tasks.at(2)).id, (await tasks.at(0)).id]).toEqual(['b2', 'a']);
  await tasks.close();
  write('many/c.txt', 'Bake a cake');
  await expect(loadTasks(registry, [choice])).rejects.toThrow(/many\/c\.txt, line 1/);
  mkdirSync(join(folder, 'none'));
  await expect(loadTasks(registry, [{ ...choice, path: join(folder, 'none') }])).rejects.toThrow(
    /none holds no file that ends with \.yaml, /,
  );
});

it.each([
  ['no-list.yaml', 'id: a', /no-list\.yaml holds no list of tasks, found \{"id":"a"\}/],
  ['empty.jsonl', '\n', /empty\.jsonl holds no task/],
  ['only-head.csv', 'id,description\n', /only-head\.csv holds no task/],
  ['broken.yaml', '- {id: a', /broken\.yaml cannot be read/],
  ['tasks.xlsx', 'PK', /tasks\.xlsx is of no format that is known by its ending: \.yaml/],
  [
    'misspelt.yaml',
    '- {id: a, description: b}\n- {id: c, description: d, max_step: 3}',
    /misspelt\.yaml, task 2: unknown field "max_step".*maxSteps/,
  ],
  [
    'line.jsonl',
    '{"id": "a", "description": "b"}\n\n{"id": "c"}',
    /line\.jsonl, line 3: description is nothing, expected a text/,
  ],
  ['cut.jsonl', '{"id": "a", "description": "b"}\n{"id": "c"', /cut\.jsonl, line 2 is not JSON: /],
  ['long.jsonl', `{"id": "a"${' '.repeat(2 ** 21)}}`, /long\.jsonl, line 1 is longer than 1048576 bytes/],
  [
    'check.yaml',
    '- {id: a, description: b, checks: [{path: x, operator: is, value: 1}]}',
    /check\.yaml, task 1: checks\.0\.operator is "is", expected one of .*equals/,
  ],
  ['text.yaml', '- Bake a cake', /text\.yaml, task 1 is "Bake a cake", which no task source understands/],
  ['odd.yaml', '- 7', /odd\.yaml, task 1: expected a task, found 7/],
  ['ragged.csv', 'id,description\na', /ragged\.csv is not a table: Invalid Record Length.*line 2/],
  [
    'cell.csv',
    'id,description,environment\na,b,{kind: x',
    /cell\.csv, line 2: environment is "\{kind: x", expected JSON/,
  ],
  [
    'number.csv',
    'id,description,max_steps\na,b,many',
    /number\.csv, line 2: maxSteps is "many", expected a whole number/,
  ],
  ['column.csv', 'id,description,colour\na,b,red', /column\.csv, line 2: unknown field "colour"/],
  [
    'twice.jsonl',
    '{"id":"a","description":"b"}\n{"id":"c","description":"d"}\n{"id":"a","description":"b"}',
    /the id "a" comes twice: .*twice\.jsonl, line 1, and .*twice\.jsonl, line 3/,
  ],
  [
    'needs.yaml',
    '- {id: a, description: b, prerequisites: [c]}',
    /prerequisites of "a" names "c", which is none of the tasks/,
  ],
  [
    'circle.yaml',
    '- {id: a, description: x, prerequisites: [b]}\n- {id: b, description: y, prerequisites: [a]}',
    /prerequisites go in a circle: "a" needs "b" needs "a"/,
  ],
])('says what is wrong: %s', async (name, text, message) => {
  await expect(load(write(name, text))).rejects.toThrow(message);
});

it('says that there is no file', async () => {
  await expect(load(join(folder, 'none.yaml'))).rejects.toThrow(/none\.yaml cannot be read/);
});

it('holds of many tasks little more than where they stand, and reads one where it is needed', async () => {
  const count = 20_000;
  const line = (n: number) =>
    JSON.stringify({
      ...TASKS[0],
      id: `task_${n}`,
      description: `Open number ${n}`,
      tags: [n % 2 === 0 ? 'even' : 'odd'],
    });
  const path = write('many.jsonl', Array.from({ length: count }, (_, n) => line(n)).join('\n'));
  const tasks = await openTasks(registry, [
    { source_type: 'file', path, tags: ['odd'], seed: 3, limit: 500 },
  ]);
  expect(tasks.length).toBe(500);
  const ids = await Promise.all([0, 499].map(async (place) => (await tasks.at(place)).id));
  expect(await tasks.placeOf(ids[1])).toBe(499);
  expect(await tasks.placeOf('task_0')).toBeUndefined();
  await tasks.close();
  const sides = await Promise.all(['train', 'eval'].map((part) => load(path, { part, eval_share: 0.25 })));
  expect(sides[0].length + sides[1].length).toBe(count);
  expect(Math.abs(sides[1].length / count - 0.25)).toBeLessThan(0.02);
});
