import { Logger } from '@nestjs/common';
import { Task } from '@ui-rl/contracts';
import { RETRIES, retry } from '@ui-rl/retry';
import { eventually, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { BusService, failure, isUnanswered } from './index';

Logger.overrideLogger(false);

describe('requests', () => {
  let nats: NatsServer;
  let bus: BusService;
  const connect = (service = 'test', port = nats.port) =>
    BusService.connect({ service, servers: [`nats://127.0.0.1:${port}`] });

  beforeEach(async () => {
    nats = await startNats();
    bus = await connect();
  });

  afterEach(async () => {
    await bus.close();
    await nats.stop();
  });

  it('carries bytes both ways and validates on the way in', async () => {
    bus.respond({
      subject: 'uirl.test',
      queue: 'q',
      schema: Task,
      handle: async (task) => ({ said: task.description, png: new Uint8Array([1, 2, 255]) }),
    });
    const reply = await bus.request<{ said: string; png: Uint8Array }>('uirl.test', makeTask(), 1_000);
    expect(reply).toMatchObject({ ok: true, value: { said: 'Open Settings' } });
    expect(reply.ok && Buffer.from(reply.value.png)).toEqual(Buffer.from([1, 2, 255]));
    expect(await bus.request('uirl.test', { description: 7 }, 1_000)).toMatchObject({
      ok: false,
      error: { code: 'bad_request', message: expect.stringContaining('description') },
    });
    await eventually('the record', async () => (await bus.deadLetterBucket.keys('*.uirl.test.*'))[0]);
  });

  it('stores a hundred unreadable requests of an operation a day, so that what else is stored stays', async () => {
    bus.respond({ subject: 'uirl.env.step.a', schema: Task, handle: async () => ({}) });
    bus.respond({ subject: 'uirl.policy.r.act', schema: Task, handle: async () => ({}) });
    const wrong = (subject: string) => bus.request(subject, { description: 7 }, 5_000);
    for (let sent = 0; sent < 300; sent += 1) await wrong('uirl.env.step.a');
    await wrong('uirl.policy.r.act');
    await eventually(
      'that of another operation',
      async () => (await bus.deadLetterBucket.keys('*.uirl.policy.r.act.*')).length > 0,
    );
    // Some share a millisecond in their keys.
    expect((await bus.deadLetterBucket.keys('*.uirl.env.step.a.*')).length).toBeLessThanOrEqual(100);
  });

  it('validates the reply too', async () => {
    bus.respond({ subject: 'uirl.test', schema: Task, handle: async () => ({ description: 1 }) });
    expect(await bus.request('uirl.test', makeTask(), 1_000, Task)).toMatchObject({
      ok: false,
      error: { code: 'bad_reply', message: expect.stringContaining('description') },
    });
  });

  it('turns what went wrong into codes', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    bus.respond({
      subject: 'uirl.test',
      schema: Task,
      handle: async (task) => {
        if (task.description === 'full') return failure('capacity', 'all pages are taken');
        if (task.description === 'slow') await released;
        throw new Error('broken');
      },
    });
    const code = async (subject: string, description: string) => {
      const reply = await bus.request(subject, { description }, 200);
      return reply.ok ? 'ok' : reply.error.code;
    };
    expect(await code('uirl.test', 'full')).toBe('capacity');
    expect(await code('uirl.test', 'slow')).toBe('timeout');
    release();
    expect(await code('uirl.test', 'other')).toBe('internal');
    expect(await code('uirl.absent', 'other')).toBe('no_responders');
    expect(await code('uirl.test', 'x'.repeat(65 * 1024 * 1024))).toBe('too_large');
  });

  it('answers so many at a time and says so to others, which may ask again', async () => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let taken = 0;
    bus.respond({
      subject: 'uirl.test',
      schema: Task,
      handle: async () => {
        taken += 1;
        await released;
      },
    });
    const ask = () => bus.request('uirl.test', makeTask(), 30_000);
    const asked = Array.from({ length: 1_024 }, ask);
    await eventually('1,024 requests in the works', () => taken === 1_024);
    expect(await ask()).toMatchObject({ ok: false, error: { code: 'capacity' } });
    release();
    expect((await Promise.all(asked)).every(({ ok }) => ok)).toBe(true);
    expect(await ask()).toMatchObject({ ok: true });
  });

  it('reports that no service took a request, so that the caller can repeat it until the service is there', async () => {
    const { outMsgs: before } = bus.connection.stats();
    const ask = () => bus.request('uirl.late', makeTask(), 1_000);
    const asked = retry(RETRIES.request, ask, {
      until: performance.now() + 5_000,
      isTransientResult: isUnanswered,
    });
    await eventually('a second attempt', () => bus.connection.stats().outMsgs >= before + 2);
    bus.respond({ subject: 'uirl.late', schema: Task, handle: async () => ({ here: true }) });
    expect(await asked).toEqual({ ok: true, value: { here: true } });
  });
});
