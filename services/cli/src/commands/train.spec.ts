import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BusService } from '@ui-rl/bus';
import { Launched, startNats } from '@ui-rl/testkit';
import { trainCommand } from './train';

const SMALL = ['--dry-run', '--model.name', 'small', '--tasks', 'demo_training', '--training.max_steps', '7'];

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'train-'));
});
afterEach(() => jest.restoreAllMocks());
afterAll(() => rmSync(dir, { recursive: true }));

async function dryRun(...flags: string[]): Promise<string> {
  const said = jest.spyOn(console, 'log').mockImplementation(() => undefined);
  await trainCommand().parseAsync([...SMALL, ...flags], { from: 'user' });
  return said.mock.calls.flat().join('\n');
}

it('says what a run would be, and when it ends', async () => {
  const said = await dryRun('--training.max_minutes', '2');
  expect(said).toMatch(/^ends after {2}7 steps or 2 minutes$/m);
  expect(said).toMatch(/nothing was started$/);
});

it('says of a run that ends with its warm start that its steps do not count', async () => {
  const episodes = join(dir, 'episodes.jsonl');
  writeFileSync(episodes, '');
  const only = ['--training.warm_start.only', '--training.warm_start.episodes', episodes];
  expect(await dryRun(...only)).toMatch(/^ends after {2}the warm start$/m);
});

it('says that a run was stopped, why and where, with exit code 3', async () => {
  const root = join(__dirname, '../../../..');
  const nats = await startNats();
  const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  const flags = ['--model.name', 'small', '--tasks', 'demo_training', '--training.max_steps', '7'];
  const command = Launched.start(
    process.execPath,
    [join(root, 'libs/testkit/run-ts.cjs'), join(root, 'services/cli/src/main.ts'), 'train', ...flags],
    { cwd: root, env: { ...process.env, NATS_URL: nats.url } },
  );
  try {
    const [, runId] = await command.prints(/^run (\S+)\nmonitor .+\n/m, 60_000);
    await bus.runs.changePhase(runId, 'stopped', { reason: 'enough for today' });
    expect(await command.exited).toBe(3);
    expect(command.output).toContain(`run ${runId} was stopped after step 0: enough for today`);
  } finally {
    await command.kill();
    await bus.close();
    await nats.stop();
  }
}, 120_000);

it('says on Ctrl-C that the run continues, and how to end it', async () => {
  const root = join(__dirname, '../../../..');
  const nats = await startNats();
  const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  const flags = ['--model.name', 'small', '--tasks', 'demo_training', '--training.max_steps', '7'];
  const command = Launched.start(
    process.execPath,
    [join(root, 'libs/testkit/run-ts.cjs'), join(root, 'services/cli/src/main.ts'), 'train', ...flags],
    { cwd: root, env: { ...process.env, NATS_URL: nats.url } },
  );
  try {
    const [, runId] = await command.prints(/^run (\S+)\nmonitor .+\n/m, 60_000);
    command.child.kill('SIGINT');
    expect(await command.exited).toBe(130);
    const after = command.output.slice(command.output.indexOf('the run continues'));
    expect(after).toMatch(
      new RegExp(
        `^the run continues without this command\nmonitor none answers .*\nto stop it: .*npx ui-rl runs stop ${runId}\n`,
      ),
    );
    expect(await bus.runs.state(runId)).toMatchObject({ phase: 'baseline' });
  } finally {
    await command.kill();
    await bus.close();
    await nats.stop();
  }
}, 120_000);
