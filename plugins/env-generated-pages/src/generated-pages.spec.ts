import {
  verify,
  type Action,
  type Deadline,
  type Environment,
  type EnvironmentComponent,
  type EnvironmentSession,
  type Task,
  type TaskSourceComponent,
} from '@ui-rl/plugin-kit';
import { components } from '.';
import type { GeneratedPagesOptions } from './options';

const [environment, source] = components as unknown as [
  EnvironmentComponent<object>,
  TaskSourceComponent<Partial<GeneratedPagesOptions>>,
];
const log = () => undefined;
const deadline: Deadline = { deadlineAt: Number.MAX_SAFE_INTEGER, signal: new AbortController().signal };
const pages: Environment[] = [];

beforeAll(async () => {
  pages.push(await environment.create({}, { pages: {}, maxSessions: 4, programs: {}, log }));
});
afterAll(() => pages[0].close());

async function load(options: Partial<GeneratedPagesOptions> = {}): Promise<Task[]> {
  const defaults = { split: 'training', width: 160, height: 208, max_steps: 10 } as const;
  return source.create({ ...defaults, ...options }, { log, resolve: () => null }).load(deadline);
}

async function open(task: Task, seed: number): Promise<EnvironmentSession> {
  const reply = await pages[0].open({ task, seed }, deadline);
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.value;
}

async function act(session: EnvironmentSession, action: Action) {
  const reply = await session.step(action, deadline);
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.value;
}

describe('generated pages', () => {
  it('have one task of each kind, or of the chosen ones', async () => {
    const all = await load();
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.length).toBeGreaterThan(30);
    const [form] = await load({ kinds: ['form'], split: 'held-out', width: 320 });
    expect(form).toMatchObject({ id: 'generated_pages.held-out.form', goalFrom: 'goal' });
    expect(form.environment?.options).toEqual({ kind: 'form', split: 'held-out', width: 320, height: 208 });
  });

  it('refuse a kind of task that does not exist', async () => {
    await expect(load({ kinds: ['forms'] })).rejects.toThrow(
      'no kind of task is named "forms". Did you mean form?',
    );
  });

  it('show the same first frame and goal for the same seed, others for another', async () => {
    const [task] = await load({ kinds: ['toggles'] });
    const [first, again, other] = await Promise.all([open(task, 7), open(task, 7), open(task, 8)]);
    expect(again.screenshot.sha256).toBe(first.screenshot.sha256);
    expect(again.state).toEqual(first.state);
    expect(first.state).toMatchObject({ goal: expect.any(String) as string, done: false });
    expect(other.screenshot.sha256).not.toBe(first.screenshot.sha256);
    expect(first.screenshot).toMatchObject({ width: 160, height: 208 });
    await Promise.all([first, again, other].map((session) => session.discard()));
  });

  it('end an episode at the click that reaches the goal', async () => {
    const [task] = await load({ kinds: ['click'] });
    const successes: boolean[] = [];
    for (let place = 0; place < 130 && !successes.includes(true); place++) {
      const session = await open(task, 3);
      const [x, y] = [8 + 16 * (place % 10), 8 + 16 * Math.floor(place / 10)];
      const { done } = await act(session, { action: 'click', x, y });
      const end = await session.close(deadline);
      if (!end.ok) throw new Error(end.error.message);
      successes.push(verify(task.checks, end.value)!);
      if (successes.at(-1)) expect(done).toBe(true);
    }
    expect(new Set(successes)).toEqual(new Set([false, true]));
  });

  it('reply in time if the deadline passes, and work after that', async () => {
    const [task] = await load({ kinds: ['click'] });
    const late: Deadline = { deadlineAt: 0, signal: AbortSignal.abort() };
    expect(await pages[0].open({ task, seed: 7 }, late)).toMatchObject({
      ok: false,
      error: { code: 'deadline' },
    });
    const session = await open(task, 7);
    expect(await session.step({ action: 'move', x: 1, y: 1 }, late)).toMatchObject({
      error: { code: 'deadline' },
    });
    await session.discard();
    await (await open(task, 7)).discard();
  });

  it.each([
    [{ kind: 'clik' }, 'kind is "clik", expected a kind of task, such as click. Did you mean click?'],
    [{ kind: 'click', split: 'test' }, 'split is "test", expected training or held-out'],
    [{ kind: 'click', width: 100 }, 'width is 100, expected an integer from 160 to 480'],
  ])('refuse the options %j', async (options, message) => {
    const task: Task = {
      id: 'mine',
      description: 'x',
      environment: { kind: 'generated-pages', options },
    };
    const reply = await pages[0].open({ task, seed: 1 }, deadline);
    expect(reply).toMatchObject({ ok: false, error: { code: 'bad_task' } });
    if (!reply.ok) expect(reply.error.message).toContain(message);
  });
});
