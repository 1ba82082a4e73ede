import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import { type EnvOpenReply, subjects } from '@ui-rl/contracts';
import {
  descendants,
  eventually,
  type Launched,
  makeTask,
  running,
  startNats,
  startService,
  type NatsServer,
} from '@ui-rl/testkit';
import { Logger } from '@nestjs/common';

Logger.overrideLogger(false);

describe('the env process', () => {
  let nats: NatsServer;
  let bus: BusService;
  let service: Launched;

  beforeAll(async () => {
    nats = await startNats();
    bus = await BusService.connect({ service: 'test', servers: [`nats://127.0.0.1:${nats.port}`] });
    const config = {
      model: { name: 'any' },
      tasks: { source_type: 'demo_training' },
      training: { max_steps: 1 },
    };
    await bus.runs.create({ runId: 'run', createdAt: new Date().toISOString(), config });
  });
  afterAll(async () => {
    await bus.close();
    await nats.stop();
  });
  afterEach(() => service.kill());

  async function open(): Promise<EnvOpenReply> {
    return eventually(
      'an open session',
      async () => {
        const reply = await bus.request<EnvOpenReply>(
          subjects.envOpen('browser'),
          { runId: 'run', rolloutId: 'r', task: makeTask(), seed: 1, leaseMs: 60_000, deadlineMs: 10_000 },
          12_000,
        );
        if (!service.running) throw new Error(`the service has ended: ${service.output}`);
        return reply.ok ? reply.value : null;
      },
      40_000,
      100,
    );
  }

  it.each([
    ['SIGTERM', 0],
    ['SIGINT', 0],
    ['SIGKILL', null],
  ] as const)('leaves no browser behind after %s', async (signal, code) => {
    // A killed process does not remove its files.
    const folder = mkdtempSync(join(tmpdir(), 'uirl-env-'));
    // A service that runs as root starts its browser as another user.
    chmodSync(folder, 0o711);
    service = startService('env', { NATS_URL: `nats://127.0.0.1:${nats.port}`, TMPDIR: folder });
    await open();
    const started = descendants(service.pid).map(({ pid }) => pid);
    expect(started.length).toBeGreaterThan(2);
    service.child.kill(signal);
    expect(await service.exited).toBe(code);
    await eventually('the end of the browsers', () => running(started).length === 0);
    rmSync(folder, { recursive: true });
  });

  it('ends with the name of a setting that is wrong', async () => {
    service = startService('env', { NATS_URL: 'localhost' });
    expect(await service.exited).toBe(1);
    expect(service.output).toContain('NATS_URL');
  });
});
