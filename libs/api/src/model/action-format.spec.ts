import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents } from '@ui-rl/plugin-kit';
import { describeRun, readCliSettings, type RunFileOptions } from '@ui-rl/settings';
import { checkRun } from '../run/check-run';
import { actionFormatText, loadForModel } from './action-format';

const shipped = readCliSettings().models.small;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-formats-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const REST = { tasks: 'demo_training', training: { max_steps: 1 } };
const load = (name: string, more: RunFileOptions = {}, model: object = {}) =>
  loadForModel({ options: { ...REST, ...more, model: { name, ...model } } });

/** A folder with the shape of a family, whose tokenizer optionally has tool-call tokens. */
function modelFolder(name: string, modelType: string, hasToolCalls: boolean): string {
  const dir = join(folder, name);
  mkdirSync(dir, { recursive: true });
  cpSync(shipped, dir, { recursive: true, filter: (path) => !path.endsWith('.safetensors') });
  const config = JSON.parse(readFileSync(join(dir, 'config.json'), 'utf8')) as object;
  writeFileSync(join(dir, 'config.json'), JSON.stringify({ ...config, model_type: modelType }));
  if (!hasToolCalls) return dir;
  const tokenizer = JSON.parse(readFileSync(join(dir, 'tokenizer.json'), 'utf8')) as {
    added_tokens: object[];
  };
  tokenizer.added_tokens.push({ id: 99_999, content: '<tool_call>', special: false });
  writeFileSync(join(dir, 'tokenizer.json'), JSON.stringify(tokenizer));
  return dir;
}

describe('the default action format of a model', () => {
  const relative = { name: 'qwen_computer_use', coordinates: 'relative_1000' };
  const resized = { name: 'qwen_computer_use', coordinates: 'model_image' };

  it.each([
    ['Qwen/Qwen3-VL-30B-A3B-Instruct', relative],
    ['Qwen/Qwen3-VL-4B-Instruct@main', relative],
    ['lab/qwen3-vl-8b-tuned', relative],
    ['Qwen/Qwen2.5-VL-3B-Instruct', resized],
    ['ByteDance-Seed/UI-TARS-1.5-7B', { name: 'ui_tars_1_5', coordinates: 'model_image' }],
    ['ByteDance-Seed/UI-TARS-7B-DPO', { name: 'ui_tars', coordinates: 'relative_1000' }],
    ['Qwen/Qwen2-VL-2B-Instruct', { name: 'json' }],
    ['llava-hf/llava-1.5-7b-hf', { name: 'json' }],
    ['not-qwen3-vl/other', { name: 'json' }],
    ['small', { name: 'json' }],
  ])('of %s is %j', async (name, format) => {
    expect((await load(name)).run.model.action_format).toMatchObject(format);
  });

  it('of a folder follows from its files, not from its shape alone', async () => {
    const formatOf = async (dir: string) => (await load(dir)).run.model.action_format;
    expect(await formatOf(shipped)).toMatchObject({ name: 'json' });
    expect(await formatOf(modelFolder('mine', 'qwen3_vl', false))).toMatchObject({ name: 'json' });
    expect(await formatOf(modelFolder('tuned', 'qwen3_vl', true))).toEqual(relative);
    expect(await formatOf(modelFolder('older', 'qwen2_5_vl', true))).toEqual(resized);
    expect(await formatOf(modelFolder('other', 'llava', true))).toMatchObject({ name: 'json' });
    expect(await formatOf(modelFolder('UI-TARS-1.5-7B', 'qwen2_5_vl', true))).toMatchObject({
      name: 'ui_tars_1_5',
    });
  });

  it.each([
    [{ kind: 'android' }, 'qwen_mobile_use'],
    [{ kind: 'gbox' }, 'qwen_mobile_use'],
    [{ kind: { name: 'gbox', box_type: 'linux' } }, 'qwen_computer_use'],
    [{ kind: 'desktop' }, 'qwen_computer_use'],
  ])('in %j is %s', async (environment, name) => {
    const { run } = await load('Qwen/Qwen2.5-VL-3B-Instruct', { environment });
    expect(run.model.action_format).toEqual({ name, coordinates: 'model_image' });
  });

  it('keeps the coordinates that are said without it', async () => {
    const options = { ...REST, model: { name: 'Qwen/Qwen3-VL-4B-Instruct' } };
    const flags = ['--model.action_format.coordinates', 'screenshot'];
    const { run } = await loadForModel({ options, flags });
    expect(run.model.action_format).toEqual({ name: 'qwen_computer_use', coordinates: 'screenshot' });
  });

  it.each(['json', 'text', { name: 'qwen_computer_use', coordinates: 'relative_999' }])(
    'is not looked at where it says %j',
    async (given) => {
      const { run } = await load('Qwen/Qwen3-VL-4B-Instruct', {}, { action_format: given });
      expect(run.model.action_format).toMatchObject(typeof given === 'string' ? { name: given } : given);
    },
  );
});

it('is said before a run, with how it is known', async () => {
  const said = async (name: string, more: object = {}) =>
    (await checkRun({ ...REST, model: { name, ...more } }, { services: 'broker' })).actionFormat;
  expect(await said('Qwen/Qwen3-VL-4B-Instruct')).toBe(
    'qwen_computer_use, relative_1000 (what the model was trained on, by its name)',
  );
  expect(await said('Qwen/Qwen3-VL-4B-Instruct', { action_format: 'json' })).toBe(
    'json, screenshot (the model was trained on qwen_computer_use, by its name)',
  );
  expect(await said('small')).toBe('json, screenshot');
  const { run, usualFormat } = await load(join(folder, 'tuned'));
  expect(actionFormatText(run, usualFormat)).toBe(
    'qwen_computer_use, relative_1000 (what the model was trained on, by its family qwen3_vl and its tokens)',
  );
});

it('is shown on the page of a run as its default', async () => {
  const rowOf = async (model: object) => {
    const { run, usualFormat } = await load('Qwen/Qwen3-VL-4B-Instruct', {}, model);
    const groups = describeRun(run, await loadComponents(), { 'model.action_format': usualFormat?.format });
    const { options } = groups.find(({ path }) => path === 'model')!;
    return options.find(({ path }) => path === 'model.action_format');
  };
  const usual = { default: 'qwen_computer_use' };
  expect(await rowOf({})).toMatchObject({ ...usual, value: 'qwen_computer_use', differs: false });
  expect(await rowOf({ action_format: 'json' })).toMatchObject({ ...usual, value: 'json', differs: true });
});
