import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger, type INestMicroservice } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import {
  type EnvCloseReply,
  type EnvOpenReply,
  type EnvStepReply,
  subjects,
  type Task,
} from '@ui-rl/contracts';
import { loadComponents, loadTasks } from '@ui-rl/plugin-kit';
import { decideOnUnservedRuns, openMicroservice } from '@ui-rl/service';
import { eventually, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { EnvModule } from './env.module';

Logger.overrideLogger(false);

describe('the env service', () => {
  let nats: NatsServer;
  let serviceBus: BusService;
  let bus: BusService;
  let app: INestMicroservice;
  let task: Task;

  beforeAll(async () => {
    const components = await loadComponents({ service: 'env' });
    nats = await startNats();
    const connect = (service: string) =>
      BusService.connect({ service, servers: [`nats://127.0.0.1:${nats.port}`] });
    [serviceBus, bus] = await Promise.all([connect('env'), connect('test')]);
    decideOnUnservedRuns(bus);
    app = await openMicroservice(
      serviceBus,
      EnvModule.forRoot({ environments: [], components, programs: {}, cacheDir: tmpdir() }),
    );
    [task] = await loadTasks(components, [{ source_type: 'demo_training', limit: 1, seed: 0 }]);
    await createRun('run', { max_sessions: 2, deadline_ms: 5000 });
    await eventually('the environment', async () => (await open()).ok);
    await leaveAll();
  });

  afterAll(async () => {
    await app.close();
    await Promise.all([serviceBus.close(), bus.close()]);
    await nats.stop();
  });

  async function createRun(runId: string, environment: Record<string, unknown>, more = {}): Promise<void> {
    const config = {
      model: { name: 'any' },
      tasks: { source_type: 'demo_training' },
      environment,
      training: { max_steps: 1 },
      ...more,
    };
    await bus.runs.create({ runId, createdAt: new Date().toISOString(), config });
  }

  const openRequest = (changes: Record<string, unknown> = {}) => ({
    runId: 'run',
    rolloutId: 'r1',
    task,
    seed: 1,
    leaseMs: 30_000,
    deadlineMs: 20_000,
    ...changes,
  });
  const ask = <T>(subject: string, message: unknown) => bus.request<T>(subject, message, 25_000);
  const held: EnvOpenReply[] = [];

  async function open(changes?: Record<string, unknown>) {
    const reply = await ask<EnvOpenReply>(subjects.envOpen('browser'), openRequest(changes));
    if (reply.ok) held.push(reply.value);
    return reply;
  }

  async function opened(changes?: Record<string, unknown>): Promise<EnvOpenReply> {
    const reply = await open(changes);
    if (!reply.ok) throw new Error(reply.error.message);
    return reply.value;
  }

  async function leaveAll(): Promise<void> {
    for (const { instance, sessionId } of held.splice(0))
      await ask(subjects.envClose(instance), { sessionId });
  }
  afterEach(leaveAll);

  it('plays an episode of a demo task: open, step, close with the state', async () => {
    const { sessionId, instance, screenshot, state } = await opened();
    expect(state).toMatchObject({
      screen: expect.any(String) as string,
      settings: expect.any(Object) as object,
    });
    expect(instance).toBe(serviceBus.instance);
    expect(screenshot).toMatchObject({
      width: 160,
      height: 224,
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect([...screenshot.png.subarray(1, 4)]).toEqual([...Buffer.from('PNG')]);
    const step = { sessionId, stepId: '0', action: { action: 'click', x: 40, y: 200 }, deadlineMs: 5000 };
    const first = await ask<EnvStepReply>(subjects.envStep(instance), step);
    expect(first).toMatchObject({ ok: true, value: { outcome: 'ok', done: false } });
    expect(await ask(subjects.envStep(instance), step)).toEqual(first);
    const closed = await ask<EnvCloseReply>(subjects.envClose(instance), { sessionId });
    expect(closed).toMatchObject({ ok: true, value: { state: { screen: expect.any(String) as string } } });
    expect(await ask(subjects.envClose(instance), { sessionId })).toEqual(closed);
  });

  it('gives the same first frame for the same seed', async () => {
    const [first, second] = [await opened(), await opened()];
    expect(second.screenshot.sha256).toBe(first.screenshot.sha256);
  });

  it('holds no more sessions than it may', async () => {
    await Promise.all([opened(), opened({ rolloutId: 'r2' })]);
    const third = { rolloutId: 'r3' };
    expect(await open(third)).toMatchObject({ ok: false, error: { code: 'capacity' } });
    await leaveAll();
    await opened(third);
  });

  it('gives a rollout that begins anew the place it left behind', async () => {
    await Promise.all([opened(), opened({ rolloutId: 'r2' })]);
    expect(await open()).toMatchObject({ ok: true });
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['open', { ...openRequest(), seed: 'one' }, /seed/],
    ['open', { ...openRequest(), task: { id: 'x' } }, /task\.description/],
    ['open', {}, /runId/],
    ['step', { sessionId: 's', stepId: '1', action: 'click', deadlineMs: 1 }, /action/],
    ['step', { sessionId: 's', stepId: '1', action: {}, deadlineMs: -1 }, /deadlineMs/],
    ['close', { sessionId: '' }, /sessionId/],
  ])('answers a malformed %s with what is wrong and stays up: %j', async (kind, message, problem) => {
    const subject = {
      open: subjects.envOpen('browser'),
      step: subjects.envStep(serviceBus.instance),
      close: subjects.envClose(serviceBus.instance),
    }[kind]!;
    const reply = await ask(subject, message);
    expect(reply).toMatchObject({ ok: false, error: { code: 'bad_request' } });
    expect(reply).toMatchObject({ error: { message: expect.stringMatching(problem) as string } });
    await opened();
  });

  it('answers bytes that are not a message', async () => {
    const reply = await bus.connection.request(subjects.envOpen('browser'), 'hello', { timeout: 5000 });
    expect(Buffer.from(reply.data).toString('latin1')).toContain('bad_request');
  });

  it('refuses an invalid action, a task it cannot play, and a session and a run it does not have', async () => {
    const { sessionId, instance } = await opened();
    const step = { sessionId, stepId: '0', action: { action: 'clack' }, deadlineMs: 5000 };
    expect(await ask(subjects.envStep(instance), step)).toMatchObject({
      error: { code: 'bad_request', message: expect.stringContaining('"clack"') as string },
    });
    const environment = { kind: 'browser', options: { page: 'none' } };
    expect(await open({ task: makeTask({ environment }) })).toMatchObject({ error: { code: 'bad_task' } });
    expect(await open({ runId: 'other' })).toMatchObject({ error: { code: 'capacity' } });
    for (const subject of [subjects.envStep(instance), subjects.envClose(instance)]) {
      expect(await ask(subject, { ...step, sessionId: 'absent' })).toMatchObject({
        error: { code: 'no_session' },
      });
    }
  });

  it('ends the environment of a run that has ended, and its sessions', async () => {
    await createRun('short', { max_sessions: 1 });
    await eventually('the environment', async () => (await open({ runId: 'short' })).ok);
    const { sessionId, instance } = held[0];
    await bus.runs.changePhase('short', 'finished');
    await eventually('the end', async () => !(await ask(subjects.envClose(instance), { sessionId })).ok);
    expect(await open({ runId: 'short' })).toMatchObject({ error: { code: 'capacity' } });
    await opened();
  });

  it.each([
    [
      'an unknown environment',
      { kind: 'mainframe' },
      /no environment is named "mainframe" in the env service on \S+ \(known: .*\bbrowser\b.*\): allow the module that has it there: npx ui-rl up --plugins MODULE/,
    ],
    [
      'an unknown option',
      { kind: { name: 'browser', headed: true } },
      /unknown option "environment\.kind\.headed" of environment browser/,
    ],
  ])('fails a run with %s, saying why, and stays up', async (name, environment, reason) => {
    const runId = name.replaceAll(' ', '-');
    await createRun(runId, environment);
    const state = await eventually('the failure', async () => {
      const found = await bus.runs.state(runId);
      return found?.phase === 'failed' ? found : null;
    });
    expect(state.reason).toMatch(reason);
    await opened();
  });

  it('loads no module that a run names', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'env-plugins-'));
    const file = join(folder, 'evil.js');
    writeFileSync(file, `require('node:fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '')`);
    await createRun('with-plugins', {}, { plugins: [file] });
    const failed = async () => (await bus.runs.state('with-plugins'))?.phase === 'failed';
    await eventually('the failure', failed);
    expect((await bus.runs.state('with-plugins'))?.reason).toMatch(/evil\.js.*names no modules/);
    expect(existsSync(join(folder, 'ran'))).toBe(false);
    rmSync(folder, { recursive: true });
  });
});
