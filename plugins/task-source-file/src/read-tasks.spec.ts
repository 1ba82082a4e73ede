import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { readTasks } from './read-tasks';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'uirl-tasks-'))));
afterAll(() => rmSync(folder, { recursive: true }));

function write(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const YAML = `
- id: open_cart
  description: Open the cart
  maxSteps: 5
  environment: { kind: browser, options: { url: 'http://shop.example/' } }
  checks: [{ path: url, operator: contains, value: /cart }]
- { id: open_help, description: Open the help }
`;
const TASKS = [
  {
    id: 'open_cart',
    description: 'Open the cart',
    maxSteps: 5,
    environment: { kind: 'browser', options: { url: 'http://shop.example/' } },
    checks: [{ path: 'url', operator: 'contains', value: '/cart' }],
  },
  { id: 'open_help', description: 'Open the help' },
];

it.each([
  ['tasks.yaml', YAML],
  ['tasks.json', JSON.stringify(TASKS, null, 2)],
  ['tasks.jsonl', `${TASKS.map((task) => JSON.stringify(task)).join('\n\n')}\n`],
])('reads %s', async (name, text) => {
  expect(await readTasks(write(name, text))).toEqual(TASKS);
});

it('is the task source "file"', async () => {
  const registry = await loadComponents();
  const path = write('some.yaml', YAML);
  const tasks = await loadTasks(registry, [{ source_type: 'file', path, limit: 1 }]);
  expect(tasks).toEqual(TASKS.slice(0, 1));
});

it.each([
  ['no-list.yaml', 'id: a', /no-list\.yaml holds no list of tasks/],
  ['empty.jsonl', '\n', /empty\.jsonl holds no task/],
  ['broken.yaml', '- {id: a', /broken\.yaml cannot be read/],
  [
    'misspelt.yaml',
    '- {id: a, description: b}\n- {id: c, description: d, max_step: 3}',
    /misspelt\.yaml, task 2: unknown field "max_step".*maxSteps/,
  ],
  ['line.jsonl', '{"id": "a", "description": "b"}\n{"id": "c"}', /line\.jsonl, line 2: description/],
  [
    'check.yaml',
    '- {id: a, description: b, checks: [{path: x, operator: is, value: 1}]}',
    /check\.yaml, task 1: checks\.0\.operator is "is", expected one of .*equals/,
  ],
  ['text.yaml', '- Open the cart', /text\.yaml, task 1: expected a task, found "Open the cart"/],
])('says what is wrong: %s', async (name, text, message) => {
  await expect(readTasks(write(name, text))).rejects.toThrow(message);
});

it('says that there is no file', async () => {
  await expect(readTasks(join(folder, 'none.yaml'))).rejects.toThrow(/none\.yaml cannot be read/);
});
