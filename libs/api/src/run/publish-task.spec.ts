import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { BusService } from '@ui-rl/bus';
import { subjects } from '@ui-rl/contracts';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { startNats, type NatsServer } from '@ui-rl/testkit';
import { publishTask } from './publish-task';

Logger.overrideLogger(false);

let nats: NatsServer;
let bus: BusService;
let registry: ComponentRegistry;
let folder: string;
let runs = 0;
let runId: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-publish-'));
  nats = await startNats();
  bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  registry = await loadComponents();
});
afterAll(async () => {
  await bus.close();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

const createRun = async (tasks: unknown = [{ source_type: 'demo_training' }]) => {
  runId = `run-${++runs}`;
  const config = { model: { name: 'any' }, tasks, eval_tasks: [] };
  await bus.runs.create({ runId, createdAt: new Date().toISOString(), config }, 'training');
};
beforeEach(() => createRun());

const publish = (written: string) => publishTask(bus, written, { run: runId, registry });
const queued = () => bus.storedCount('TASKS', subjects.task(runId));

test('publishes what a source knows, and whole tasks', async () => {
  expect(await publish('Turn on Bluetooth')).toEqual({ runId, notes: [] });
  expect(await publish(' {"description": "Turn on Bluetooth", "max_steps": 3}\n')).toEqual({
    runId,
    notes: [],
  });
  const own = { description: 'Mine', environment: { kind: 'desktop', options: {} } };
  expect(await publish(JSON.stringify(own))).toEqual({ runId, notes: [] });
  expect(await queued()).toBe(3);
});

test.each<[string, string | RegExp]>([
  ['{"descripton": "x"}', /^the task: unknown field "descripton"\. Did you mean description\?/],
  [
    '{"description": "x", "checks": [{"path": "a", "operator": "is", "value": 1}]}',
    /operator.*"is", expected/,
  ],
  ['{"description": "x", "environment": "browser"}', /^the task: environment is "browser", expected/],
  ['{"description": "  "}', 'the task: description holds nothing but white space'],
  ['{"description": "x"', /^the task is not JSON: /],
  ['[{"description": "x"}]', /^the task: expected a task, found/],
  ['{}', /^the task: description is nothing, expected a text/],
  ['   ', /^the task is empty/],
  ['./task.json', /^"\.\/task\.json" is the name of a file.*publish "\$\(cat \.\/task\.json\)"$/],
  ['tasks.YAML', /is the name of a file/],
])('publishes nothing of %s, and says why', async (written, message) => {
  await expect(publish(written)).rejects.toThrow(message);
  expect(await queued()).toBe(0);
});

test('takes no existing file for a sentence, under any name', async () => {
  const file = join(folder, 'mine');
  writeFileSync(file, '{"description": "x"}');
  await expect(publish(file)).rejects.toThrow('is the name of a file');
});

test('refuses a sentence that is nearly one that a source knows, and says how it is published as it stands', async () => {
  await expect(publish('Turn on Bluetoth')).rejects.toThrow(
    'no task source of the run knows "Turn on Bluetoth". Did you mean "Turn on Bluetooth" or "Turn off Bluetooth"?',
  );
  expect(await queued()).toBe(0);
  const { notes } = await publish('{"description": "Turn on Bluetoth"}');
  expect(notes).toEqual([
    'no task source of the run knows "Turn on Bluetoth": it is played where the training tasks are, without a verdict, since it has no checks',
  ]);
});

test('says of a sentence that no source knows that it is played without a verdict', async () => {
  const { notes } = await publish('Order twelve red umbrellas for the garden party of the neighbours');
  expect(notes.join()).toContain('without a verdict, since it has no checks');
  const checks = [{ path: 'a', operator: 'equals', value: 1 }];
  const checked = await publish(JSON.stringify({ description: 'Order umbrellas', checks }));
  expect(checked.notes).toEqual([
    'no task source of the run knows "Order umbrellas": it is played where the training tasks are',
  ]);
  expect(await queued()).toBe(2);
});

test('publishes what only the services can judge, and says that', async () => {
  await createRun([{ source_type: 'of_a_plugin' }]);
  expect((await publish('Turn on Bluetoth')).notes.join()).toContain('not known here');
});

test('refuses a run that has ended', async () => {
  await bus.runs.changePhase(runId, 'stopped');
  await expect(publish('Turn on Bluetooth')).rejects.toThrow('has ended (stopped)');
});
