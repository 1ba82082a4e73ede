import { Logger, type INestMicroservice } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { BusModule, BusService, BusStrategy } from '@ui-rl/bus';
import {
  type EnvCloseReply,
  type EnvOpenReply,
  type EnvStepReply,
  subjects,
  type Task,
} from '@ui-rl/contracts';
import { loadPlugins, type Sessions } from '@ui-rl/plugin-kit';
import { makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { EnvModule } from './env.module';
import { openSessions } from './open-sessions';

Logger.overrideLogger(false);

describe('the env service', () => {
  let nats: NatsServer;
  let serviceBus: BusService;
  let bus: BusService;
  let sessions: Sessions;
  let app: INestMicroservice;
  let task: Task;

  beforeAll(async () => {
    nats = await startNats();
    const connect = (service: string) =>
      BusService.connect({ service, servers: [`nats://127.0.0.1:${nats.port}`] });
    [serviceBus, bus] = await Promise.all([connect('env'), connect('test')]);
    sessions = await openSessions({
      kind: 'browser',
      maxSessions: 2,
      deadlineMs: 5000,
      options: {},
      plugins: [],
    });
    const module = await Test.createTestingModule({
      imports: [BusModule.forRoot(serviceBus), EnvModule.forRoot(sessions)],
    }).compile();
    app = module.createNestMicroservice({
      strategy: new BusStrategy(serviceBus, { kind: 'browser' }),
      logger: false,
    });
    await app.listen();
    const source = (await loadPlugins()).taskSource('demo_training');
    [task] = await source.load({ source_type: 'demo_training', limit: 1, seed: 0 });
  });

  afterAll(async () => {
    await app.close();
    await Promise.all([serviceBus.close(), bus.close()]);
    await nats.stop();
  });

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
  const open = (changes?: Record<string, unknown>) =>
    ask<EnvOpenReply>(subjects.envOpen('browser'), openRequest(changes));

  async function opened(): Promise<EnvOpenReply> {
    const reply = await open();
    if (!reply.ok) throw new Error(reply.error.message);
    return reply.value;
  }

  it('plays an episode of a demo task: open, step, close with the state', async () => {
    const { sessionId, instance, screenshot } = await opened();
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
    const frames: string[] = [];
    for (let i = 0; i < 2; i++) {
      const { sessionId, instance, screenshot } = await opened();
      frames.push(screenshot.sha256);
      await ask(subjects.envClose(instance), { sessionId });
    }
    expect(frames[1]).toBe(frames[0]);
  });

  it('holds no more sessions than it may', async () => {
    const held = [await opened(), await opened()];
    expect(await open()).toMatchObject({ ok: false, error: { code: 'capacity' } });
    for (const { sessionId, instance } of held) await ask(subjects.envClose(instance), { sessionId });
    const { sessionId, instance } = await opened();
    await ask(subjects.envClose(instance), { sessionId });
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
  });

  it('answers bytes that are no message', async () => {
    const reply = await bus.connection.request(subjects.envOpen('browser'), 'hello', { timeout: 5000 });
    expect(Buffer.from(reply.data).toString('latin1')).toContain('bad_request');
  });

  it('refuses what is no action, and a task it cannot play', async () => {
    const { sessionId, instance } = await opened();
    const step = { sessionId, stepId: '0', action: { action: 'clack' }, deadlineMs: 5000 };
    const reply = await ask(subjects.envStep(instance), step);
    expect(reply).toMatchObject({
      error: { code: 'bad_request', message: expect.stringContaining('"clack"') as string },
    });
    await ask(subjects.envClose(instance), { sessionId });
    const environment = { kind: 'browser', options: { page: 'none' } };
    expect(await open({ task: makeTask({ environment }) })).toMatchObject({ error: { code: 'bad_task' } });
    expect(await ask(subjects.envClose(instance), { sessionId: 'nobody' })).toMatchObject({
      error: { code: 'no_session' },
    });
  });

  it('cannot be started with an unknown environment or option', async () => {
    const options = { kind: 'browser', maxSessions: 1, deadlineMs: 1000, options: {}, plugins: [] };
    await expect(openSessions({ ...options, kind: 'desktop' })).rejects.toThrow(
      'no environment plugin is named "desktop" (known: browser)',
    );
    await expect(openSessions({ ...options, options: { headed: true } })).rejects.toThrow(
      '"headed" is unknown',
    );
    await expect(openSessions({ ...options, plugins: ['./none.js'] })).rejects.toThrow('plugin "./none.js"');
  });
});
