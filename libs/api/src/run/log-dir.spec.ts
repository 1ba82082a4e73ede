import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import type { RunFile } from '@ui-rl/settings';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { decideOnLogDir } from './log-dir';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  const config = { logging: { log_dir: 'mine' } };
  await bus.runs.create({ runId: 'earlier', createdAt: new Date().toISOString(), config });
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
});

function decide(logging: object, ...answers: string[]) {
  const ask = answers.length === 0 ? undefined : async () => answers.shift() ?? 'skip';
  return decideOnLogDir(bus, { logging } as RunFile, ask);
}

it('asks only where an earlier run used the folder, until the answer is one', async () => {
  const asking = { behavior_if_log_dir_exists: 'ask' };
  expect(await decide(asking)).toBe('ask');
  expect(await decide({ ...asking, log_dir: 'other' })).toBe('ask');
  expect(await decide({ ...asking, log_dir: 'mine' }, 'what?', ' resume ')).toBe('resume');
  await expect(decide({ ...asking, log_dir: 'mine' })).rejects.toThrow(
    /log_dir mine was used by run earlier: choose with --logging.behavior_if_log_dir_exists/,
  );
  expect(await decide({ log_dir: 'mine', behavior_if_log_dir_exists: 'overwrite' })).toBe('overwrite');
});
