import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger, type INestMicroservice } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { EnvCloseReply, EnvOpenReply, EnvStepReply, subjects } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { decideOnUnservedRuns, openMicroservice } from '@ui-rl/service';
import { eventually, makeTask, startNats, type NatsServer } from '@ui-rl/testkit';
import { EnvModule } from './env.module';

Logger.overrideLogger(false);

/** A user's environment without imports of the project: a counter that clicks increase. */
const COUNTER = `
const { createHash } = require('node:crypto');

const screenshot = (count) => {
  const png = Buffer.from('screen ' + count);
  return { png, sha256: createHash('sha256').update(png).digest('hex'), width: 10, height: 10 };
};

class Session {
  constructor(seed, step) {
    this.count = seed;
    this.by = step;
    this.screenshot = screenshot(this.count);
    this.state = { count: this.count };
  }
  async step(action) {
    if (action.action === 'key') return { ok: false, error: { code: 'crashed', message: 'the counter has no keys' } };
    if (action.action === 'type') throw new Error('cannot type');
    this.count += this.by;
    return { ok: true, value: { screenshot: screenshot(this.count), outcome: 'ok', done: this.count >= 10 } };
  }
  async close() {
    return { ok: true, value: { count: this.count } };
  }
  async discard() {}
}

module.exports.default = {
  kind: 'environment',
  name: 'counter',
  options: { step: { type: 'integer', default: 1, atLeast: 1, description: 'What a click adds.' } },
  create: async ({ step }) => ({
    open: async ({ seed }) => ({ ok: true, value: new Session(seed, step) }),
    close: async () => {},
  }),
};
`;

describe('an environment from one file outside of the repository', () => {
  let folder: string;
  let nats: NatsServer;
  let serviceBus: BusService;
  let bus: BusService;
  let app: INestMicroservice;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'env-counter-'));
    writeFileSync(join(folder, 'counter.js'), COUNTER);
    const components = await loadComponents({ service: 'env', packages: ['./counter.js'], from: folder });
    nats = await startNats();
    const connect = (service: string) => BusService.connect({ service, servers: [nats.url] });
    [serviceBus, bus] = await Promise.all([connect('env'), connect('test')]);
    decideOnUnservedRuns(bus);
    app = await openMicroservice(
      serviceBus,
      EnvModule.forRoot({ environments: [], components, programs: {}, cacheDir: tmpdir() }),
    );
  });

  afterAll(async () => {
    await app.close();
    await Promise.all([serviceBus.close(), bus.close()]);
    await nats.stop();
    rmSync(folder, { recursive: true });
  });

  async function createRun(runId: string, kind: Record<string, unknown>): Promise<void> {
    const config = {
      model: { name: 'any' },
      tasks: { source_type: 'demo_training' },
      environment: { kind, max_sessions: 2 },
      training: { max_steps: 1 },
    };
    await bus.runs.create({ runId, createdAt: new Date().toISOString(), config });
  }

  async function opened(runId: string): Promise<EnvOpenReply> {
    const task = makeTask({ environment: { kind: 'counter', options: {} } });
    const request = { runId, rolloutId: 'r', task, seed: 3, leaseMs: 30_000, deadlineMs: 5_000 };
    return eventually('an open session', async () => {
      const reply = await bus.request(subjects.envOpen('counter'), request, 10_000, EnvOpenReply);
      return reply.ok ? reply.value : null;
    });
  }

  const step = ({ instance, sessionId }: EnvOpenReply, stepId: string, action: object) =>
    bus.request(
      subjects.envStep(instance),
      { sessionId, stepId, action, deadlineMs: 5_000 },
      10_000,
      EnvStepReply,
    );
  const close = ({ instance, sessionId }: EnvOpenReply) =>
    bus.request(subjects.envClose(instance), { sessionId }, 10_000, EnvCloseReply);
  const click = { action: 'click', x: 1, y: 1 };

  it('is played with its options: first state, steps carried out once, end and final state', async () => {
    await createRun('counting', { name: 'counter', step: 4 });
    const session = await opened('counting');
    expect(session).toMatchObject({ state: { count: 3 }, screenshot: { width: 10, height: 10 } });
    const first = await step(session, '0.0', click);
    expect(first).toMatchObject({ ok: true, value: { outcome: 'ok', done: false } });
    expect(await step(session, '0.0', click)).toEqual(first);
    expect(await step(session, '0.1', click)).toMatchObject({ ok: true, value: { done: true } });
    expect(await close(session)).toMatchObject({ ok: true, value: { state: { count: 11 } } });
  });

  it.each([
    ['reports', { action: 'key', keys: ['enter'] }, { code: 'crashed', message: 'the counter has no keys' }],
    ['throws', { action: 'type', text: 'a' }, { code: 'internal', message: 'cannot type' }],
  ])('ends the session with what it %s', async (how, action, error) => {
    const runId = `failing-${how}`;
    await createRun(runId, { name: 'counter' });
    const session = await opened(runId);
    expect(await step(session, '0.0', action)).toEqual({ ok: false, error });
    expect(await step(session, '1.0', click)).toEqual({ ok: false, error });
  });

  it('refuses an option it does not have, by name, and fails the run', async () => {
    await createRun('misspelt', { name: 'counter', stepp: 2 });
    const state = await eventually('the failure', async () => {
      const found = await bus.runs.state('misspelt');
      return found?.phase === 'failed' ? found : null;
    });
    expect(state.reason).toContain('stepp');
    expect(state.reason).toContain('step');
  });
});
