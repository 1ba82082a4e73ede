import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const MODULES = join(ROOT, 'node_modules');
/** Kept out of the scripts below, which the import check would otherwise read as imports of this file. */
const NAME = 'ui-rl';

/** The compiler rejects the marked lines only if it finds the package's types. */
const TYPESCRIPT = `
import { runTasks, train, VisionLanguageModel, type EpisodeResult, type RunFileOptions } from '${NAME}';

const runFile: RunFileOptions = {
  model: { prompt: 'compact' },
  rollout: { max_turns: 2, max_tokens: 24 },
  rewards: [{ name: 'task-success' }],
  algorithm: { advantage: 'grpo', loss: { name: 'ppo', clip_high: 0.28 } },
};
// @ts-expect-error
export const wrong: RunFileOptions = { rollout: { max_turns: 'two' } };

export const trained = async (): Promise<number | undefined> => {
  const result = await train(runFile, {
    onEvent: (event) => {
      if (event.type === 'train_step') event.step.toFixed();
      // @ts-expect-error
      if (event.type === 'train-step') return;
    },
  });
  // @ts-expect-error
  result.final.success_rate.toFixed();
  return result.final?.success_rate;
};

const policy = await VisionLanguageModel.load('small', { device: 'cpu' });
try {
  const episodes: EpisodeResult[] = await runTasks(['Open Settings', 'Turn on Wi-Fi'], {
    policy,
    runFile,
    actors: 2,
    onEpisode: ({ turns }, place) => console.error(place.toFixed(), turns[0].text),
  });
  // @ts-expect-error
  const succeeded: string = episodes[0].success;
  console.log(JSON.stringify(episodes.map(({ status, turns, screenshot }) => ({
    status,
    succeeded,
    png: Buffer.from(screenshot(turns[0].screenshot)).toString('latin1', 1, 4),
  }))));
} finally {
  await policy.stop();
}
`;

const REQUIRED = `
const { randomModel, VisionLanguageModel } = require('${NAME}');
console.log(typeof randomModel, typeof VisionLanguageModel.load, require('${NAME}/package.json').name);
`;

describe('the package, outside of the repository', () => {
  let folder: string;
  const run = (...command: string[]) =>
    spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8', timeout: 120_000 });

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'outside-'));
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}');
    const npm = ['install', '--offline', '--no-audit', '--no-fund', ROOT];
    expect(spawnSync('npm', npm, { cwd: folder, encoding: 'utf8' })).toMatchObject({ status: 0 });
    mkdirSync(join(folder, 'node_modules/@types'));
    symlinkSync(join(MODULES, '@types/node'), join(folder, 'node_modules/@types/node'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is imported with its types, and plays tasks', () => {
    writeFileSync(join(folder, 'play.ts'), TYPESCRIPT);
    const flags = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--types', 'node'];
    const compiled = run(join(MODULES, 'typescript/bin/tsc'), ...flags, '--skipLibCheck', 'play.ts');
    expect(compiled.stdout).toBe('');
    const { stdout, stderr } = run('play.js');
    expect(stderr.split('\n').filter(Boolean).toSorted()).toEqual([
      expect.stringMatching(/^0 \{"action"/),
      expect.stringMatching(/^1 \{"action"/),
    ]);
    const played = {
      status: expect.stringMatching(/completed|truncated/),
      succeeded: expect.any(Boolean),
      png: 'PNG',
    };
    expect(JSON.parse(stdout)).toEqual([played, played]);
  }, 180_000);

  it('is required', () => {
    writeFileSync(join(folder, 'required.cjs'), REQUIRED);
    const { stdout, stderr } = run('required.cjs');
    expect({ stdout, stderr }).toEqual({ stdout: 'function function ui-rl\n', stderr: '' });
  }, 60_000);
});
