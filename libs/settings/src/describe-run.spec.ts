import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfiguredOption } from '@ui-rl/contracts';
import { loadComponents } from '@ui-rl/plugin-kit';
import { describeRun, describeRunFile, loadRunFile } from './index';

const PLUGIN = `exports.components = [
  {
    kind: 'policy-loss', name: 'mine', description: 'A loss of my own.', inputs: ['advantages'], scope: 'token',
    options: { sharpness: { type: 'number', description: 'how sharp', default: 2, above: 0 } },
    create: () => ({ build: () => {} }),
  },
  {
    kind: 'tracker', name: 'remote', description: 'Tells a server.',
    options: { account: { type: 'text', description: 'who we are', required: true, secret: true } },
    create: () => ({ log: () => {} }),
  },
];`;

const OPTIONS = {
  model: { name: 'small' },
  tasks: 'demo_training',
  training: { max_steps: 3 },
  algorithm: { advantage: 'grpo', loss: { name: 'mine', sharpness: 3 } },
  logging: { trackers: ['jsonl', { name: 'remote', account: 'me:hush' }] },
};

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'describe-run-'));
  writeFileSync(join(folder, 'mine.js'), PLUGIN);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function describe(options: object): Promise<Map<string, ConfiguredOption>> {
  const plugins = [join(folder, 'mine.js')];
  const { run, registry } = await loadRunFile({ options: { ...options, plugins } });
  return rowsOf(describeRun(run, registry));
}

function rowsOf(groups: ReturnType<typeof describeRun>): Map<string, ConfiguredOption> {
  return new Map(groups.flatMap(({ options }) => options).map((option) => [option.path, option]));
}

it('names every option of the run file, group by group, as the classes say', async () => {
  const { run, registry } = await loadRunFile({ options: { ...OPTIONS, algorithm: {}, logging: {} } });
  const expected = describeRunFile(registry).groups;
  const groups = describeRun(run, registry);
  expect(groups.map(({ path, doc }) => [path, doc])).toEqual(expected.map(({ path, doc }) => [path, doc]));
  const own = new Set(
    groups.flatMap(({ options }) =>
      options.filter(({ choice }) => choice === undefined).map(({ path }) => path.replace(/\[\d+\]$/, '')),
    ),
  );
  const known = expected.flatMap(({ options }) => options.map(({ path }) => path));
  // Options that may be written beside a choice are shown with it.
  expect([...own]).toEqual(known.filter((path) => path !== 'environment.options'));
  expect(JSON.parse(JSON.stringify(groups))).toEqual(groups);
});

it('says what differs from its default, and what that is', async () => {
  const rows = await describe(OPTIONS);
  expect(rows.get('training.max_steps')).toMatchObject({ value: 3, differs: true });
  expect(rows.get('rollout.group_size')).toMatchObject({ value: 4, default: 4, differs: false });
  expect(rows.get('algorithm.advantage')).toMatchObject({ value: 'grpo', default: 'dr_grpo', differs: true });
  expect(rows.get('logging.log_dir')).toMatchObject({ differs: false });
  expect(rows.get('logging.log_dir')).not.toHaveProperty('value');
  expect(rows.get('rewards[0]')).toMatchObject({ value: 'task-success', differs: false });
  expect(rows.get('eval_tasks')).toMatchObject({ value: [], differs: false });
  expect(rows.get('logging.trackers[0]')).toMatchObject({ value: 'jsonl', differs: false });
  expect(rows.get('logging.trackers[1]')).toMatchObject({ value: 'remote', differs: true });
});

it('shows the options of the chosen components behind their choice, and hides secrets', async () => {
  const rows = await describe(OPTIONS);
  expect(rows.get('algorithm.loss')).toMatchObject({
    value: 'mine',
    component: 'A loss of my own.',
    differs: true,
  });
  expect(rows.get('algorithm.loss.sharpness')).toEqual({
    path: 'algorithm.loss.sharpness',
    doc: 'how sharp',
    expected: 'a number above 0',
    value: 3,
    default: 2,
    differs: true,
    choice: 'algorithm.loss',
  });
  expect(rows.get('logging.trackers[1].account')).toMatchObject({ value: '[hidden]', differs: true });
  expect(JSON.stringify([...rows])).not.toContain('hush');
});

it('takes the loss that goes with the advantage for the default', async () => {
  const loss = async (algorithm: object) => (await describe({ ...OPTIONS, algorithm })).get('algorithm.loss');
  expect(await loss({})).toMatchObject({
    value: 'importance_sampling',
    default: 'importance_sampling',
    differs: false,
  });
  expect(await loss({ loss: 'ppo' })).toMatchObject({
    value: 'ppo',
    default: 'importance_sampling',
    differs: true,
  });
});

it('says which options have no effect', async () => {
  const rows = await describe({ ...OPTIONS, model: { name: 'small', use_lora: false } });
  expect(rows.get('model.lora.rank')?.ineffective).toBe('needs model.use_lora true');
  expect(rows.get('algorithm.dynamic_sampling_limit')?.ineffective).toBe(
    'needs algorithm.dynamic_sampling true',
  );
  expect(rows.get('training.max_steps')?.ineffective).toBeUndefined();
});

it('completes what was announced by hand', async () => {
  const rows = rowsOf(
    describeRun(
      { ...OPTIONS, algorithm: { loss: { name: 'ppo', clip_high: 0.3 } }, logging: {} },
      await loadComponents(),
    ),
  );
  expect(rows.get('algorithm.loss.clip_high')).toMatchObject({ value: 0.3, differs: true });
  expect(rows.get('rollout.group_size')).toMatchObject({ value: 4, differs: false });
});

it('shows undescribed options with name and value, and hides options that sound like secrets', async () => {
  const odd = { ...OPTIONS, rollout: { group_size: 8, moon_phase: 'full', api_key: 'hush' } };
  const rows = rowsOf(describeRun(odd, await loadComponents()));
  expect(rows.get('algorithm.loss')).toMatchObject({ value: 'mine', differs: true });
  expect(rows.get('algorithm.loss')).not.toHaveProperty('component');
  expect(rows.get('algorithm.loss.sharpness')).toMatchObject({ value: 3, doc: '', choice: 'algorithm.loss' });
  expect(rows.get('rollout.moon_phase')).toMatchObject({ value: 'full', doc: '', differs: true });
  expect(rows.get('rollout.group_size')).toMatchObject({ value: 8, default: 4, differs: true });
  expect(rows.get('rollout.api_key')).toMatchObject({ value: '[hidden]' });
});
