import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import { describeComponents, describeRunFile, loadRunFile, optionsHelp, redactRunFile } from './index';

const PLUGIN = `exports.components = [
  {
    kind: 'policy-loss', name: 'mine', description: 'A loss of my own.', inputs: ['advantages'], scope: 'token',
    options: { sharpness: { type: 'number', description: 'how sharp', default: 2, above: 0 }, reward_threshold: { type: 'number', description: 'a name that another component has', default: 0 } },
    create: (options) => ({ options, build: () => {} }),
    conflicts: ({ sharpness }, { rollout }) => sharpness > rollout.group_size ? ['sharper than the group is large'] : [],
  },
  {
    kind: 'reward', name: 'remote', description: 'Asks a server.',
    options: { address_of_mine: { type: 'text', description: 'where it is', required: true, secret: true } },
    create: () => ({ score: () => 0 }),
  },
];`;

describe('the options of components from a module outside of the project', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'strangers-'));
    writeFileSync(join(folder, 'mine.js'), PLUGIN);
    writeFileSync(
      join(folder, 'run.yaml'),
      'model: {name: /m}\ntasks: demo_training\ntraining: {max_steps: 1}\nplugins: [./mine.js]\nalgorithm: {loss: mine}\n',
    );
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const load = (...flags: string[]) => loadRunFile({ file: join(folder, 'run.yaml'), flags });

  it('are read from the run file, which names the module by a path beside it, and from flags', async () => {
    const { run, registry } = await load('--algorithm.loss.sharpness', '3');
    expect(run.algorithm.loss).toEqual({ name: 'mine', sharpness: 3, reward_threshold: 0 });
    expect(run.plugins).toEqual([join(folder, 'mine.js')]);
    expect(registry.files).toEqual([join(folder, 'mine.js')]);
    expect(optionsHelp(registry)).toMatch(
      /mine: A loss of my own\.\n +--algorithm\.loss\.sharpness\n +how sharp/,
    );
  });

  it('are found where a flag names the module', async () => {
    const flags = [
      '--model.name',
      '/m',
      '--tasks',
      'demo_eval',
      '--training.max_steps',
      '1',
      '--algorithm.loss',
      'mine',
    ];
    const { run } = await loadRunFile({ flags: [...flags, '--plugins', join(folder, 'mine.js')] });
    expect(run.algorithm.loss).toMatchObject({ name: 'mine', sharpness: 2 });
  });

  it.each([
    [
      ['--algorithm.loss.sharpness', '0'],
      '--algorithm.loss.sharpness: algorithm.loss.sharpness is 0, expected a number above 0 (how sharp)',
    ],
    [['--sharpnes', '1'], 'unknown option --sharpnes. Did you mean --algorithm.loss.sharpness or'],
    [['--algorithm.loss.sharpness', '9'], 'algorithm.loss: sharper than the group is large'],
    [['--algorithm.loss', 'mien'], 'algorithm.loss: no policy-loss is named "mien"'],
    [
      ['--algorithm.loss', 'ppo', '--algorithm.loss.sharpness', '1'],
      'unknown option "algorithm.loss.sharpness" of policy-loss ppo. It is one of mine.',
    ],
  ])('are refused with %j', async (flags, message) => {
    await expect(load(...flags)).rejects.toThrow(message);
  });

  it('are refused with the name of the option where their module is not there', async () => {
    await expect(load('--plugins', 'uirl-none')).rejects.toThrow(/^plugins: plugin "uirl-none": no package/);
  });

  it('that are declared as secret are hidden', async () => {
    const { run, registry } = await load('--rewards', '[{"name":"remote","address_of_mine":"x"}]');
    expect(redactRunFile(run, registry).rewards).toEqual([{ name: 'remote', address_of_mine: '[hidden]' }]);
    expect(run.rewards).toEqual([{ name: 'remote', address_of_mine: 'x' }]);
  });
});

describe('the description of the run file', () => {
  it('explains every option, each also in the help', async () => {
    const registry = await loadComponents();
    const { groups, components } = describeRunFile(registry);
    expect(groups.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['', 'model', 'model.lora', 'training']),
    );
    expect(groups.find(({ path }) => path === 'model.lora')?.needs).toEqual({
      option: 'use_lora',
      value: true,
    });
    const help = optionsHelp(registry);
    const options = [...groups, ...components].flatMap(({ options }) => options);
    expect(options.length).toBeGreaterThan(80);
    for (const { path, doc, expected } of options) {
      expect({ path, explained: doc !== '' && expected !== 'any value' }).toEqual({ path, explained: true });
      if (path !== undefined) expect(help).toContain(`--${path}`);
    }
    expect(describeComponents(registry)).toEqual(components);
    expect(JSON.parse(JSON.stringify(groups))).toEqual(groups);
  });
});
