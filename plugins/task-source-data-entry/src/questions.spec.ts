import { loadComponents, loadTasks, verify, type ComponentRegistry, type Task } from '@ui-rl/plugin-kit';
import { sheetOf } from './sheet';

let registry: ComponentRegistry;
beforeAll(async () => (registry = await loadComponents()));

const load = (options: Record<string, unknown> = {}) =>
  loadTasks(registry, [{ source_type: 'sheet_questions', ...options }]);
const checkOf = ({ checks }: Task) => checks![0] as { operator?: string; value: unknown };
const answerTo = (task: Task) => [checkOf(task).value].flat().join(', ');
const accepts = ({ checks }: Task, answer: string) => verify(checks, {}, answer);

it('asks 30 different questions about a sheet, compared as texts, numbers and sets', async () => {
  const tasks = await load();
  expect(new Set(tasks.map(({ description }) => description)).size).toBe(30);
  expect(new Set(tasks.map((task) => checkOf(task).operator ?? 'equals'))).toEqual(
    new Set(['equals', 'number', 'set']),
  );
  expect(await load()).toEqual(tasks);
  expect((await load({ sheet: 1 })).map(({ description }) => description)).not.toEqual(
    tasks.map(({ description }) => description),
  );
});

it('accepts the correct answer only', async () => {
  const tasks = await load({ rows: 60, questions: 40 });
  for (const [index, task] of tasks.entries()) {
    expect(accepts(task, answerTo(task))).toBe(true);
    const others = tasks.filter(({ checks }) => JSON.stringify(checks) !== JSON.stringify(task.checks));
    const other = others[index % others.length];
    expect(accepts(task, answerTo(other))).toBe(false);
  }
});

it('has the answers of the sheet', async () => {
  const rows = sheetOf(0, 100);
  const tasks = await load({ questions: 60 });
  const find = (pattern: RegExp) => tasks.find(({ description }) => pattern.test(description))!;
  const name = /email address of (.*)\?/.exec(find(/email address of/).description)![1];
  const [person] = rows.filter(([first, last]) => `${first} ${last}` === name);
  expect(checkOf(find(/email address of/)).value).toBe(person[2]);
  const city = /people live in (\S+)\?/.exec(find(/people live in/).description)![1];
  expect(checkOf(find(/people live in/)).value).toBe(rows.filter((row) => row[3] === city).length);
  const [, from, to] = /rows (\d+) to (\d+)/.exec(find(/rows \d+ to/).description)!.map(Number);
  const sum = rows.slice(from - 1, to).reduce((total, row) => total + Number(row[4]), 0);
  expect(checkOf(find(/rows \d+ to/)).value).toBeCloseTo(sum, 6);
});

it('refuses more questions than a sheet has', async () => {
  await expect(load({ rows: 1, questions: 30 })).rejects.toThrow(/a spreadsheet of 1 rows has \d different/);
});
