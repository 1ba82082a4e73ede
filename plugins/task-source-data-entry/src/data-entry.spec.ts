import {
  loadComponents,
  loadTasks,
  openTasks,
  refuseSharedGoals,
  verify,
  type ComponentRegistry,
  type Task,
} from '@ui-rl/plugin-kit';
import { playByOracle } from '../test/play';
import { nextAction, type Progress } from './oracle';
import { sheetOf } from './sheet';

let registry: ComponentRegistry;
beforeAll(async () => (registry = await loadComponents()));

const load = (options: Record<string, unknown>) =>
  loadTasks(registry, [{ source_type: 'simple_data_entry', ...options }]);

describe('the tasks', () => {
  it('are one for each row, or for as many rows as are asked for', async () => {
    expect(await load({})).toHaveLength(100);
    expect(await load({ rows: 10, rows_per_task: 3 })).toHaveLength(3);
    const [all] = await load({ rows_per_task: 100, on: 'desktop' });
    expect(all).toMatchObject({
      id: 'data_entry.desktop.0.100.1-100',
      description:
        'Type rows 1 to 100 from the spreadsheet at the left into the form at the right, one after the other, and submit each',
      environment: { kind: 'desktop', options: { page: 'data-entry', screen: { width: 1280, height: 800 } } },
    });
    expect(all.checks).toHaveLength(102);
  });

  it('are shuffled and divided as those of every source; another sheet has other goals of the same words', async () => {
    const ids = async (options: object) => (await load({ rows: 50, ...options })).map(({ id }) => id);
    expect(await ids({ seed: 3, limit: 50 })).not.toEqual(await ids({}));
    expect((await ids({ seed: 3 })).toSorted()).toEqual((await ids({})).toSorted());
    expect(await ids({ part: 'eval', limit: 2 })).toHaveLength(2);
    const open = (sheet: number) =>
      openTasks(registry, [{ source_type: 'simple_data_entry', rows: 3, sheet }]);
    const [one, same, other] = await Promise.all([0, 0, 1].map(open));
    await expect(refuseSharedGoals(one, same)).rejects.toThrow(/3 goals are in tasks, too/);
    await refuseSharedGoals(one, other);
  });

  it('say of rows that fill no task that they are left over', async () => {
    const said: string[] = [];
    const choice = { source_type: 'simple_data_entry', rows: 10, rows_per_task: 4 };
    await loadTasks(registry, [choice], { log: (level, message) => said.push(`${level} ${message}`) });
    expect(said).toEqual(['warn simple_data_entry: the last 2 of 10 rows fill no task of 4']);
  });

  it('have the same rows for the same seed, no two alike', () => {
    expect(sheetOf(4, 50)).toEqual(sheetOf(4, 50));
    expect(sheetOf(5, 50)).not.toEqual(sheetOf(4, 50));
    expect(new Set(sheetOf(4, 1_000).map((row) => row.join())).size).toBe(1_000);
  });

  it('of a shorter sheet have no row of a longer one', () => {
    const longer = new Set(sheetOf(0, 100).map((row) => row.join()));
    expect(sheetOf(0, 20).filter((row) => longer.has(row.join()))).toEqual([]);
  });

  it.each([
    [{ rows: 5, rows_per_task: 6 }, /rows_per_task is 6, expected at most 5/],
    [{ on: 'phone' }, /on is "phone", expected one of browser, desktop/],
    [{ rows: 0 }, /rows is 0/],
  ])('%j is refused', async (options, message) => {
    await expect(load(options)).rejects.toThrow(message);
  });
});

describe('the oracle', () => {
  const box = [10, 10, 100, 30] as const;
  const state = (values: string[], focused = -1, marked = false): Progress => ({
    submitted_row_indices: [],
    num_incorrect_submissions: 0,
    form: values.map((value, index) => ({ label: '', value, focused: index === focused, marked, box })),
    submit: { box: [10, 200, 80, 40] },
  });
  let task: Task;
  let row: string[];
  beforeAll(async () => {
    [task] = await load({ rows: 2, limit: 1 });
    [row] = (task.environment!.options.reset as { rows: string[][] }).rows;
  });

  it('corrects wrong entries', () => {
    const wrong = ['nonsense', '', '', '', ''];
    expect(nextAction(task, state(wrong))).toEqual({ action: 'click', x: 60, y: 25 });
    expect(nextAction(task, state(wrong, 0))).toEqual({ action: 'key', keys: ['ctrl', 'a'] });
    expect(nextAction(task, state(wrong, 0, true))).toEqual({ action: 'type', text: row[0] });
  });

  it('goes from field to field, submits, and finishes', () => {
    expect(nextAction(task, state([row[0], '', '', '', ''], 0))).toEqual({ action: 'key', keys: ['tab'] });
    expect(nextAction(task, state(row))).toEqual({ action: 'click', x: 50, y: 220 });
    expect(nextAction(task, { ...state(row), submitted_row_indices: [0] })).toEqual({
      action: 'finish',
      success: true,
    });
  });

  it.each(['desktop', 'browser'])(
    'types rows on the page, %s, by actions alone',
    async (on) => {
      const [, second] = await load({ on, rows: 60, rows_per_task: 2, limit: 2 });
      const { success, state: end, actions } = await playByOracle(registry, second);
      expect(end).toMatchObject({ submitted_row_indices: [2, 3], num_incorrect_submissions: 0 });
      expect(success).toBe(true);
      // A click, five texts, four tabs and a click for each row.
      expect(actions).toBe(22);
    },
    180_000,
  );

  it('has not done what a task asks for where it has typed one more row of the sheet', async () => {
    const [first] = await load({ rows: 3 });
    const [both] = await load({ rows: 3, rows_per_task: 2 });
    const { state: end } = await playByOracle(registry, both);
    expect(verify(both.checks, end)).toBe(true);
    expect(verify(first.checks, end)).toBe(false);
    expect(verify(first.checks, { ...end, submitted_row_indices: [0], num_submissions: 1 })).toBe(true);
  }, 180_000);
});
