import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chooseModel } from './model-choice';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'uirl-choice-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

it.each<[string, Record<string, string>, RegExp]>([
  [
    'is an array',
    { 'adapter_config.json': '[]' },
    /adapter_config\.json: holds an array; expected a JSON object/,
  ],
  ['is cut off', { 'adapter_config.json': '{"r": 4' }, /adapter_config\.json: is not JSON/],
  [
    'names no model',
    { 'adapter_config.json': '{"base_model_name_or_path": 3}' },
    /adapter_config\.json: base_model_name_or_path is missing; name the model with --model/,
  ],
  [
    'has a state without a model',
    { 'adapter_config.json': '{}', 'state.json': '{"model": {"name": 5}}' },
    /state\.json: model\.name is missing; name the model with --model/,
  ],
  [
    'has a state that is cut off',
    { 'adapter_config.json': '{}', 'state.json': '{' },
    /state\.json: is not JSON/,
  ],
])('an adapter whose configuration %s is refused with its file', async (_, files, error) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  await expect(chooseModel({ adapter: dir }, { onProgress: () => undefined })).rejects.toThrow(error);
});

describe("a checkpoint with a name of the learner's UIRL_MODELS", () => {
  beforeEach(() => writeFileSync(join(dir, 'state.json'), '{"model": {"name": "of-the-learner"}}'));

  it('finds the model in the folder of its configuration', async () => {
    const modelDir = join(dir, 'base');
    mkdirSync(modelDir);
    writeFileSync(join(dir, 'adapter_config.json'), JSON.stringify({ base_model_name_or_path: modelDir }));
    expect(await chooseModel({ checkpoint: dir }, { onProgress: () => undefined })).toEqual({
      modelDir,
      adapterDir: dir,
    });
  });

  it('names it if that folder is missing, too', async () => {
    const config = { base_model_name_or_path: join(dir, 'absent') };
    writeFileSync(join(dir, 'adapter_config.json'), JSON.stringify(config));
    await expect(chooseModel({ checkpoint: dir }, { onProgress: () => undefined })).rejects.toThrow(
      /state\.json names the model of-the-learner, which is not a folder, a name on the hub or a name in UIRL_MODELS/,
    );
  });
});
