import type { Action } from '@ui-rl/actions';
import type { Reply } from '@ui-rl/contracts';
import type { Environment, EnvironmentSession, StepOutcome } from './kinds';
import { Sessions } from './sessions';

const screenshot = { png: new Uint8Array([1]), sha256: 'a', width: 1, height: 1 };
const click = (x: number) => ({ action: 'click', x, y: 1 });

/** A counter environment whose step replies can be replaced. */
class Counter implements Environment {
  discarded = 0;
  closed = 0;
  clicks: number[] = [];
  onOpen: () => Promise<void> = async () => {};
  onInspect: (() => Promise<Reply<Record<string, unknown>>>) | undefined;
  onStep: (action: Action) => Promise<Reply<StepOutcome>> = async () => ({
    ok: true,
    value: { screenshot, outcome: 'ok', done: false },
  });

  async open(): Promise<Reply<EnvironmentSession>> {
    await this.onOpen();
    const session: EnvironmentSession = {
      screenshot,
      state: { clicks: 0 },
      inspect: this.onInspect,
      step: async (action) => {
        if ('x' in action) this.clicks.push(action.x!);
        return this.onStep(action);
      },
      close: async () => ({ ok: true, value: { clicks: this.clicks.length } }),
      discard: async () => void this.discarded++,
    };
    return { ok: true, value: session };
  }

  async close(): Promise<void> {
    this.closed++;
  }
}

const task = { description: 'count' };
const request = { task, seed: 1, leaseMs: 60_000, deadlineMs: 1000 };

async function opened(sessions: Sessions, overrides = {}): Promise<string> {
  const reply = await sessions.open({ ...request, ...overrides });
  if (!reply.ok) throw new Error(reply.error.message);
  return reply.value.sessionId;
}

/** A promise that the test resolves. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open: () => void = () => undefined;
  return { opened: new Promise((resolve) => (open = resolve)), open };
}

function codeOf(reply: Reply<unknown>): string {
  return reply.ok ? 'ok' : reply.error.code;
}

describe('Sessions', () => {
  let environment: Counter;
  let sessions: Sessions;
  beforeEach(() => {
    environment = new Counter();
    sessions = new Sessions(environment, { maxSessions: 2 });
  });
  afterEach(async () => {
    jest.useRealTimers();
    await sessions.close();
  });

  it.each([2 ** 31 - 1, 2 ** 31, 2 ** 40])('gives an environment a deadline of %d ms', async (ms) => {
    environment.onOpen = () => new Promise((resolve) => setTimeout(resolve, 20));
    const sessionId = await opened(sessions, { deadlineMs: ms, leaseMs: ms });
    environment.onStep = async () => {
      await environment.onOpen();
      return { ok: true, value: { screenshot, outcome: 'ok', done: false } };
    };
    const step = { sessionId, stepId: '1', action: click(1), deadlineMs: ms };
    expect(codeOf(await sessions.step(step))).toBe('ok');
    expect(sessions.size).toBe(1);
  });

  it('answers a repeated step from its first reply, also while it runs and after the end', async () => {
    const sessionId = await opened(sessions);
    const step = { sessionId, stepId: 's1', action: click(7), deadlineMs: 1000 };
    const [first, second] = await Promise.all([sessions.step(step), sessions.step(step)]);
    const third = await sessions.step(step);
    const closed = await sessions.closeSession(sessionId);
    const [openMs, idleMs] = [expect.any(Number) as number, expect.any(Number) as number];
    expect(closed).toEqual({ ok: true, value: { state: { clicks: 1 }, openMs, idleMs } });
    expect(second).toBe(first);
    expect(third).toBe(first);
    expect(await sessions.step(step)).toBe(first);
    expect(await sessions.closeSession(sessionId)).toBe(closed);
    expect(environment.clicks).toEqual([7]);
  });

  it('gives the state during the episode, and that of the first frame if it cannot', async () => {
    const without = await opened(sessions);
    expect(await sessions.inspect(without, 1000)).toEqual({ ok: true, value: { clicks: 0 } });
    environment.onInspect = async () => ({ ok: true, value: { clicks: environment.clicks.length } });
    const sessionId = await opened(sessions);
    await sessions.step({ sessionId, stepId: 's1', action: click(1), deadlineMs: 1000 });
    expect(await sessions.inspect(sessionId, 1000)).toEqual({ ok: true, value: { clicks: 1 } });
    expect(codeOf(await sessions.step({ sessionId, stepId: 's2', action: click(2), deadlineMs: 1000 }))).toBe(
      'ok',
    );
    await sessions.closeSession(sessionId);
    expect(codeOf(await sessions.inspect(sessionId, 1000))).toBe('no_session');
  });

  it('ends a session whose state cannot be read', async () => {
    environment.onInspect = async () => ({ ok: false, error: { code: 'crashed', message: 'gone' } });
    const sessionId = await opened(sessions);
    expect(codeOf(await sessions.inspect(sessionId, 1000))).toBe('crashed');
    expect(codeOf(await sessions.inspect(sessionId, 1000))).toBe('crashed');
    expect(environment.discarded).toBe(1);
  });

  it('executes steps with different ids', async () => {
    const sessionId = await opened(sessions);
    await sessions.step({ sessionId, stepId: 's1', action: click(1), deadlineMs: 1000 });
    await sessions.step({ sessionId, stepId: 's2', action: click(2), deadlineMs: 1000 });
    expect(environment.clicks).toEqual([1, 2]);
  });

  it('refuses another step while one runs, and leaves the session as it is', async () => {
    const sessionId = await opened(sessions);
    const { opened: finished, open: finish } = gate();
    environment.onStep = async () => {
      await finished;
      return { ok: true, value: { screenshot, outcome: 'ok', done: false } };
    };
    const running = sessions.step({ sessionId, stepId: 's1', action: click(1), deadlineMs: 1000 });
    expect(codeOf(await sessions.step({ sessionId, stepId: 's2', action: click(2), deadlineMs: 1000 }))).toBe(
      'busy',
    );
    expect(codeOf(await sessions.closeSession(sessionId))).toBe('busy');
    finish();
    expect(codeOf(await running)).toBe('ok');
    expect(codeOf(await sessions.step({ sessionId, stepId: 's2', action: click(2), deadlineMs: 1000 }))).toBe(
      'ok',
    );
  });

  it('refuses an invalid action with the correction, and continues', async () => {
    const sessionId = await opened(sessions);
    const bad = await sessions.step({
      sessionId,
      stepId: 's1',
      action: { action: 'click', x: -1, y: 0 },
      deadlineMs: 1,
    });
    expect(bad).toMatchObject({ ok: false, error: { code: 'bad_request' } });
    expect(bad).toMatchObject({ error: { message: expect.stringContaining('found -1') as string } });
    expect(codeOf(await sessions.step({ sessionId, stepId: 's1', action: click(1), deadlineMs: 1000 }))).toBe(
      'ok',
    );
  });

  it('opens no more sessions than it may, counting those being opened', async () => {
    const replies = await Promise.all([1, 2, 3].map(() => sessions.open(request)));
    expect(replies.map(codeOf).toSorted()).toEqual(['capacity', 'ok', 'ok']);
    expect(sessions.size).toBe(2);
  });

  it('gives up what its owner left behind, where there is no room for another', async () => {
    const left = await opened(sessions, { owner: 'a' });
    const other = await opened(sessions, { owner: 'b' });
    expect(codeOf(await sessions.open(request))).toBe('capacity');
    expect(codeOf(await sessions.open({ ...request, owner: 'c' }))).toBe('capacity');
    const again = await opened(sessions, { owner: 'a' });
    expect(sessions.size).toBe(2);
    expect(environment.discarded).toBe(1);
    const step = { stepId: 's', action: click(1), deadlineMs: 1000 };
    expect(codeOf(await sessions.step({ ...step, sessionId: left }))).toBe('no_session');
    expect(codeOf(await sessions.step({ ...step, sessionId: other }))).toBe('ok');
    expect(codeOf(await sessions.step({ ...step, sessionId: again }))).toBe('ok');
  });

  it('keeps a session of the same owner while there is room', async () => {
    const first = await opened(sessions, { owner: 'a' });
    await opened(sessions, { owner: 'a' });
    expect(codeOf(await sessions.closeSession(first))).toBe('ok');
  });

  it('ends a session whose lease runs out, renewed by every request, and says so later', async () => {
    jest.useFakeTimers();
    const sessionId = await opened(sessions, { leaseMs: 80 });
    for (let i = 0; i < 3; i++) {
      await jest.advanceTimersByTimeAsync(79);
      const reply = await sessions.step({ sessionId, stepId: `s${i}`, action: click(i), deadlineMs: 1000 });
      expect(codeOf(reply)).toBe('ok');
    }
    await jest.advanceTimersByTimeAsync(79);
    expect(sessions.size).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(environment.discarded).toBe(1);
    expect(sessions.size).toBe(0);
    const late = await sessions.step({ sessionId, stepId: 's9', action: click(9), deadlineMs: 1000 });
    expect(late).toMatchObject({
      error: { code: 'no_session', message: expect.stringMatching(/lease of 80 ms/) as string },
    });
    expect(codeOf(await sessions.closeSession(sessionId))).toBe('no_session');
  });

  it('does not let the lease run out while a step is at work', async () => {
    jest.useFakeTimers();
    const sessionId = await opened(sessions, { leaseMs: 40 });
    const { opened: finished, open: finish } = gate();
    environment.onStep = async () => {
      await finished;
      return { ok: true, value: { screenshot, outcome: 'ok', done: false } };
    };
    const step = sessions.step({ sessionId, stepId: 's', action: click(1), deadlineMs: 1000 });
    await jest.advanceTimersByTimeAsync(400);
    finish();
    expect(codeOf(await step)).toBe('ok');
    expect(sessions.size).toBe(1);
  });

  it('ends a session whose step failed; every later request gets the failure', async () => {
    const sessionId = await opened(sessions);
    environment.onStep = async () => ({ ok: false, error: { code: 'crashed', message: 'the page crashed' } });
    const step = { sessionId, stepId: 's1', action: click(1), deadlineMs: 1000 };
    const failed = await sessions.step(step);
    expect(codeOf(failed)).toBe('crashed');
    expect(await sessions.step(step)).toBe(failed);
    expect(codeOf(await sessions.step({ ...step, stepId: 's2' }))).toBe('crashed');
    expect(codeOf(await sessions.closeSession(sessionId))).toBe('crashed');
    expect(environment).toMatchObject({ discarded: 1, clicks: [1] });
    expect(sessions.size).toBe(0);
  });

  it('turns an exception into a value and logs it whole', async () => {
    const lines: string[] = [];
    sessions = new Sessions(environment, { maxSessions: 1, log: (_level, message) => lines.push(message) });
    const sessionId = await opened(sessions);
    environment.onStep = () => Promise.reject(new Error('broken pipe'));
    const reply = await sessions.step({ sessionId, stepId: 's1', action: click(1), deadlineMs: 1000 });
    expect(reply).toEqual({ ok: false, error: { code: 'internal', message: 'broken pipe' } });
    expect(lines[0]).toMatch(/step failed: Error: broken pipe\n\s+at /);
  });

  it('answers in time for an environment that does not, and ends what it opens too late', async () => {
    jest.useFakeTimers();
    const { opened: answered, open: answer } = gate();
    environment.onOpen = () => answered;
    const opening = sessions.open({ ...request, deadlineMs: 50 });
    await jest.advanceTimersByTimeAsync(2050);
    expect(codeOf(await opening)).toBe('deadline');
    expect(environment.discarded).toBe(0);
    answer();
    await jest.advanceTimersByTimeAsync(0);
    expect(environment.discarded).toBe(1);
    expect(sessions.size).toBe(0);
  });

  it('ends everything when it is closed, and opens nothing more', async () => {
    const sessionId = await opened(sessions);
    await sessions.close();
    expect(environment).toMatchObject({ discarded: 1, closed: 1 });
    expect(codeOf(await sessions.open(request))).toBe('capacity');
    expect(codeOf(await sessions.closeSession(sessionId))).toBe('no_session');
  });

  it('remembers the last replies of ended sessions as long as their screenshots are few bytes', async () => {
    const png = new Uint8Array(10 * 2 ** 20);
    environment.onStep = async () => ({
      ok: true,
      value: { screenshot: { ...screenshot, png }, outcome: 'ok', done: false },
    });
    const steps = [];
    for (let count = 0; count < 8; count += 1) {
      const step = { sessionId: await opened(sessions), stepId: 's1', action: click(7), deadlineMs: 1000 };
      await sessions.step(step);
      await sessions.closeSession(step.sessionId);
      steps.push(step);
    }
    expect(codeOf(await sessions.step(steps[0]))).toBe('no_session');
    expect(codeOf(await sessions.step(steps[7]))).toBe('ok');
  });

  it('says that a session it never had is none', async () => {
    expect(
      codeOf(await sessions.step({ sessionId: 'x', stepId: 's', action: click(1), deadlineMs: 1 })),
    ).toBe('no_session');
    expect(codeOf(await sessions.closeSession('x'))).toBe('no_session');
  });
});
