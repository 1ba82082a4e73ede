import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import { projectRoot, readCliSettings, readRunFile, type RunFile } from '@ui-rl/settings';
import { OWN_PAGE } from '../test/trials';
import { prepareTry, type TrainedChoice } from './setup';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uirl-try-setup-'));
  for (const [name, file] of [
    ['adapter', 'adapter_config.json'],
    ['whole', 'config.json'],
    ['nothing', 'readme.txt'],
  ]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, file), '{}');
  }
});
afterAll(() => rm(folder, { recursive: true }));

const trained = async (checkpoint: string, flags: string[] = []): Promise<TrainedChoice> =>
  (await prepareTry({ page: OWN_PAGE, task: 'x', checkpoint, flags, workingDir: folder })).trained;

it('gives the included model the prompts of its pre-training, as the quickstart does', async () => {
  const registry = await loadComponents();
  const quickstart = readRunFile({ file: join(projectRoot, 'deploy/config/quickstart.yaml') }, registry);
  const { loaded } = await prepareTry({ page: OWN_PAGE, task: 'x', workingDir: folder });
  const prompts = ({ model, rollout }: RunFile) => ({
    ...{ model: model.name, prompt: model.prompt, turns: model.history_turns },
    screenshots: rollout.history_screenshots,
  });
  expect(prompts(loaded.run)).toEqual(prompts(quickstart));
});

describe('training on a demonstrated task', () => {
  const address = 'uirl://a-run/sampler_weights/000080';
  const text = { name: 'text', coordinates: 'screenshot' };

  it.each<[string, string[], object]>([
    ['small', [], { name: 'small' }],
    ['Qwen/Qwen3-VL-2B-Instruct', [], { name: 'Qwen/Qwen3-VL-2B-Instruct' }],
    [address, [], { name: 'small', load_checkpoint: address }],
    ['https://127.0.0.1:1/v1#Qwen/Qwen3-VL-2B-Instruct', [], { name: 'small' }],
    ['small', ['--model.action_format=text'], { name: 'small', action_format: text }],
  ])('with %s %j', async (checkpoint, flags, expected) => {
    expect(await trained(checkpoint, flags)).toEqual(expected);
  });

  it('is the model of a folder, or the adapter in it, from wherever the command is given', async () => {
    expect(await trained('whole')).toEqual({ name: join(folder, 'whole') });
    expect(await trained('./adapter')).toEqual({
      name: 'small',
      load_checkpoint: join(folder, 'adapter'),
    });
    const { small } = readCliSettings().models;
    expect(await trained(small)).toEqual({ name: small });
  });

  it('is said to be none before anybody has played', async () => {
    await expect(trained('nothing')).rejects.toThrow(/holds neither adapter_config.json nor config.json/);
    await expect(trained('./none')).rejects.toThrow(/there is no checkpoint "\.\/none"/);
  });
});
