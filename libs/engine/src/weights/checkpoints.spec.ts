import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine } from '@ui-rl/plugin-kit';
import { adapter, allWeights, scratchFolder, TestModel, train } from '../../test/test-model';

let model: TestModel;
const scratch = scratchFolder('checkpoints');
beforeAll(async () => (model = await TestModel.of('qwen3-vl-a')));
afterEach(() => model.stop());

const learn = (engine: Engine) => train(engine, model.lessons(), { learningRate: 1e-3 });

describe('checkpoints', () => {
  it.each([
    ['all weights', allWeights],
    ['an adapter', adapter()],
  ])('continue with equal results, with %s', async (name, description) => {
    const dir = join(scratch, name, '000002');
    const first = await model.start({ models: [description] });
    await learn(first);
    const saved = (await learn(first)).digest;
    const files = { 'state.json': '{"step":2}' };
    expect(await first.saveState({ model: 'policy', dir, files })).toEqual({ version: 2, digest: saved });
    const { digest } = await learn(first);
    const second = await model.start({ models: [description] });
    const loaded = await second.loadState({ model: 'policy', dir, optimizer: true });
    expect(loaded).toEqual({ version: 2, digest: saved });
    expect((await learn(second)).digest).toBe(digest);
    expect(await readFile(join(dir, 'state.json'), 'utf8')).toBe('{"step":2}');
  });

  it('of all weights are complete model folders', async () => {
    const dir = join(scratch, 'model');
    const engine = await model.start();
    await learn(engine);
    await engine.saveState({ model: 'policy', dir });
    const other = await model.start({ modelDir: dir });
    const request = model.request(model.prompt(3), { temperature: 0 });
    const [answer, again] = await Promise.all([engine, other].map((each) => each.sample(request)));
    expect(answer.tokens).toEqual(again.tokens);
    expect(answer.digest).toBe(again.digest);
  });

  it('can be sampled from by name while training continues', async () => {
    const dir = join(scratch, 'sampled');
    const engine = await model.start({ deterministic: true });
    const request = model.request(model.prompt(3));
    await engine.saveState({ model: 'policy', dir });
    const begin = await engine.sample(request);
    await learn(engine);
    await engine.saveWeightsForSampler({ model: 'policy', name: 'read', dir });
    expect(await engine.sample({ ...request, model: 'read' })).toEqual(begin);
    expect((await engine.sample(request)).digest).not.toBe(begin.digest);
  });

  it('that were changed, or belong to something else, are refused', async () => {
    const dir = join(scratch, 'refused');
    const engine = await model.start();
    await engine.saveState({ model: 'policy', dir });
    const request = { model: 'policy', dir, optimizer: true };
    const adapted = await model.start({ models: [adapter()] });
    await expect(adapted.loadState(request)).rejects.toThrow(
      'holds full weights, but the engine trains lora weights',
    );
    const file = join(dir, 'model.safetensors');
    const bytes = await readFile(file);
    bytes[bytes.length - 2] ^= 64;
    await writeFile(file, bytes);
    await expect(engine.loadState(request)).rejects.toThrow('changed or damaged');
  });

  it('are refused where the state of the optimizer was changed', async () => {
    const dir = join(scratch, 'optimizer');
    const engine = await model.start({ models: [adapter()] });
    await learn(engine);
    await engine.saveState({ model: 'policy', dir });
    const file = join(dir, 'optimizer.safetensors');
    const bytes = await readFile(file);
    bytes[bytes.length - 2] ^= 64;
    await writeFile(file, bytes);
    const request = { model: 'policy', dir };
    await expect(engine.loadState({ ...request, optimizer: true })).rejects.toThrow(
      "digest of the optimizer's state",
    );
    await engine.loadState({ ...request, optimizer: false });
  });

  it.each([
    ['no JSON', () => '{"version":', 'engine.json: is not JSON'],
    ['a list', () => '[]', 'engine.json: holds an array; expected a JSON object'],
    [
      'an unknown mode',
      (info: object) => JSON.stringify({ ...info, mode: 'half' }),
      'engine.json: mode: expected one of lora, full, critic, found "half"',
    ],
    [
      'a fraction of a step',
      (info: object) => JSON.stringify({ ...info, optimizerSteps: 0.5 }),
      'engine.json: optimizerSteps: expected an integer of at least 0, found 0.5',
    ],
    [
      'no digest',
      (info: object) => JSON.stringify({ ...info, digest: undefined }),
      'engine.json: digest: expected a string, found nothing',
    ],
  ])('are refused where engine.json has %s', async (name, damage, message) => {
    const dir = join(scratch, name.replaceAll(' ', '-'));
    const engine = await model.start({ models: [adapter()] });
    await engine.saveState({ model: 'policy', dir });
    const file = join(dir, 'engine.json');
    await writeFile(file, damage(JSON.parse(await readFile(file, 'utf8')) as object));
    await expect(engine.loadState({ model: 'policy', dir, optimizer: true })).rejects.toThrow(message);
  });
});
