import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  loadComponents,
  loadTasks,
  type JudgedEpisode,
  type Reward,
  type RewardContext,
} from '@ui-rl/plugin-kit';
import { components } from './index';

const BUILTIN = join(__dirname, '../..');
const context: RewardContext = {
  log: () => {},
  environment: {},
  reward: async () => {
    throw new Error('there is no other reward');
  },
};
const deadline = { deadlineAt: Date.now() + 60_000, signal: new AbortController().signal };

function episode(success: boolean | null, turns = 3): JudgedEpisode {
  const finalObservation = { sha256: 'a', width: 1, height: 1, png: async () => new Uint8Array() };
  return {
    task: { description: 'Turn on Wi-Fi' },
    seed: 0,
    success,
    status: 'completed',
    turns: Array.from({ length: turns }, (_, index) => ({
      index,
      observation: finalObservation,
      text: '',
      actions: [],
    })),
    finalObservation,
    stateBefore: null,
    stateAfter: null,
  };
}

const scored = (reward: Reward, played: JudgedEpisode) => reward.score(played, deadline);

/** An example from plugins/README.md, verbatim. */
function example(file: string): string {
  const readme = readFileSync(join(BUILTIN, 'README.md'), 'utf8');
  return readme.split(`\`\`\`js\n// ${file}\n`)[1].split('```')[0];
}

const exampleReward = () => example('quick-reward.js');

describe('reward task-success', () => {
  it('is 1 for what the verifier calls a success, else 0', async () => {
    const reward = await components[0].create({}, context);
    expect([true, false, null].map((success) => scored(reward, episode(success)))).toEqual([1, 0, 0]);
  });
});

describe('a plugin from outside of the repository', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'reward-'));
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('is the one file that the README shows: a reward', async () => {
    writeFileSync(join(folder, 'quick-reward.js'), exampleReward());
    const registry = await loadComponents({
      packages: ['./quick-reward.js'],
      from: folder,
      builtin: BUILTIN,
    });
    const quick = await registry.create('reward', { name: 'quick' }, context);
    expect(await scored(quick, episode(true, 2))).toBeCloseTo(1 / 2);
    expect(await scored(quick, episode(true, 4))).toBeCloseTo(1 / 4);
    expect(await scored(quick, episode(false, 2))).toBe(0);
    const generous = await registry.create('reward', { name: 'quick', bonus: 3 }, context);
    expect(await scored(generous, episode(true, 2))).toBeCloseTo(3 / 2);
    expect(() => registry.create('reward', { name: 'quick', bonus: 'x' }, context)).toThrow(
      'reward quick: bonus is "x", expected a number above 0',
    );
    const plain = await registry.create('reward', { name: 'task-success' }, context);
    expect(scored(plain, episode(true))).toBe(1);
  });

  it('is the one file that the README shows: a task source', async () => {
    writeFileSync(join(folder, 'my-tasks.js'), example('my-tasks.js'));
    mkdirSync(join(folder, 'counter'));
    writeFileSync(join(folder, 'counter', 'index.html'), '<!doctype html>');
    const registry = await loadComponents({ packages: ['./my-tasks.js'], from: folder, builtin: BUILTIN });
    const tasks = await loadTasks(registry, [{ source_type: 'my_tasks', limit: 3 }]);
    expect(tasks.map(({ description }) => description)).toEqual(['Count to 3']);
    expect(registry.pages.counter).toBe(join(folder, 'counter'));
    await expect(loadTasks(registry, [{ source_type: 'my_tasks', color: 1 }])).rejects.toThrow(
      'unknown option "color"',
    );
  });

  it('may be an installed package', async () => {
    const home = join(folder, 'node_modules', 'my-reward');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'my-reward', main: 'main.js' }));
    writeFileSync(join(home, 'main.js'), exampleReward());
    const registry = await loadComponents({ packages: ['my-reward'], from: folder, builtin: BUILTIN });
    expect(registry.get('reward', 'quick').kind).toBe('reward');
  });

  it('may not take a name that is taken', async () => {
    writeFileSync(join(folder, 'again.js'), exampleReward().replace("'quick'", "'task-success'"));
    await expect(
      loadComponents({ packages: ['./again.js'], from: folder, builtin: BUILTIN }),
    ).rejects.toThrow(/reward "task-success" comes twice/);
  });
});
