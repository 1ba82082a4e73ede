import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadPlugins, type RewardInput } from '@ui-rl/plugin-kit';
import plugin from './index';

const BUILTIN = join(__dirname, '../..');

function episode(success: boolean | null, turns = 3): RewardInput {
  return { task: { description: 'Turn on Wi-Fi' }, success, status: 'completed', turns, finalState: null };
}

/** An example of plugins/README.md, word by word. */
function example(file: string): string {
  const readme = readFileSync(join(BUILTIN, 'README.md'), 'utf8');
  return readme.split(`\`\`\`js\n// ${file}\n`)[1].split('```')[0];
}

const exampleReward = () => example('quick-reward.js');

describe('reward task-success', () => {
  it('is 1 for what the verifier calls a success, else 0', () => {
    expect([true, false, null].map((success) => plugin.score(episode(success)))).toEqual([1, 0, 0]);
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
    const registry = await loadPlugins({ packages: ['./quick-reward.js'], from: folder, builtin: BUILTIN });
    const quick = registry.reward('quick');
    expect(await quick.score(episode(true, 2))).toBeCloseTo(1 / 2);
    expect(await quick.score(episode(true, 4))).toBeCloseTo(1 / 4);
    expect(await quick.score(episode(false, 2))).toBe(0);
    expect(registry.reward('task-success').score(episode(true))).toBe(1);
  });

  it('is the one file that the README shows: a task source', async () => {
    writeFileSync(join(folder, 'my-tasks.js'), example('my-tasks.js'));
    mkdirSync(join(folder, 'counter'));
    writeFileSync(join(folder, 'counter', 'index.html'), '<!doctype html>');
    const registry = await loadPlugins({ packages: ['./my-tasks.js'], from: folder, builtin: BUILTIN });
    const source = registry.taskSource('my_tasks');
    const tasks = await source.load({ source_type: 'my_tasks', limit: 3 });
    expect(tasks.map(({ description }) => description)).toEqual(['Count to 3']);
    expect(registry.pages.counter).toBe(join(folder, 'counter'));
    await expect(source.load({ source_type: 'my_tasks', color: 1 })).rejects.toThrow(
      'unknown option "color"',
    );
  });

  it('may be an installed package', async () => {
    const home = join(folder, 'node_modules', 'my-reward');
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'package.json'), JSON.stringify({ name: 'my-reward', main: 'main.js' }));
    writeFileSync(join(home, 'main.js'), exampleReward());
    const registry = await loadPlugins({ packages: ['my-reward'], from: folder, builtin: BUILTIN });
    expect(registry.reward('quick').kind).toBe('reward');
  });

  it('may not take a name that is taken', async () => {
    writeFileSync(join(folder, 'again.js'), exampleReward().replace("'quick'", "'task-success'"));
    await expect(loadPlugins({ packages: ['./again.js'], from: folder, builtin: BUILTIN })).rejects.toThrow(
      /reward "task-success" comes twice/,
    );
  });
});
