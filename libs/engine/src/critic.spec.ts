import { cpSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readSafetensors, writeSafetensors } from '@ui-rl/models';
import type { Datum, Engine, TrainedModel } from '@ui-rl/plugin-kit';
import {
  adapter,
  allWeights,
  fixtures,
  frozen,
  scores,
  scratchFolder,
  step,
  TestModel,
  train,
  trained,
} from '../test/test-model';

interface Expected {
  case: string;
  ids: number[];
  prompt: number;
  weights: number[];
  old_values: number[];
  returns: number[];
  values: number[];
  /** By clip value; the gradients belong to the last one. */
  losses: Record<string, number>;
}

const goldens = join(fixtures, '../critic');
const expected = JSON.parse(readFileSync(join(goldens, 'expected.json'), 'utf8')) as Expected;
const scratch = scratchFolder('critic');
/** A critic's checkpoint from PyTorch, without optimizer state. */
const reference = join(scratch, 'reference');

let model: TestModel;
beforeAll(async () => {
  model = await TestModel.of(expected.case);
  cpSync(join(fixtures, expected.case, 'adapter'), reference, { recursive: true });
  cpSync(join(goldens, 'value_head.safetensors'), join(reference, 'value_head.safetensors'));
});
afterEach(() => model.stop());

/** @param values loss inputs of each sampled token */
function criticDatum(
  tokenIds: readonly number[],
  prompt: number,
  values: { weights: number[]; values: number[]; returns: number[] },
): Datum {
  const at = (numbers: number[]): number[] => [...new Array<number>(prompt - 1).fill(0), ...numbers];
  return {
    modelInput: { chunks: [{ type: 'text', tokens: tokenIds.slice(0, -1) }] },
    targetTokens: tokenIds.slice(1),
    weights: at(values.weights),
    lossInputs: { values: at(values.values), returns: at(values.returns) },
  };
}

const golden = criticDatum(expected.ids, expected.prompt, {
  weights: expected.weights,
  values: expected.old_values,
  returns: expected.returns,
});

const critic: TrainedModel = { ...adapter({}, 'critic'), role: 'critic' };

const passLoss = (engine: Engine, value_clip: number) =>
  engine.forwardBackward({ model: 'critic', data: [golden], loss: { name: 'value', value_clip } });

/** The values of all trained tokens. */
async function valuesOf(engine: Engine, data: readonly Datum[]): Promise<number[]> {
  const { logprobs, values } = await engine.forward({ model: 'critic', data });
  expect(logprobs).toEqual([]);
  return values!.flatMap(trained);
}

/** With the weights of the reference. */
async function startReference(changes: Parameters<TestModel['start']>[0] = {}): Promise<Engine> {
  const engine = await model.start({ models: [critic], ...changes });
  await engine.loadState({ model: 'critic', dir: reference, optimizer: false });
  return engine;
}

const largest = (numbers: Float32Array): number =>
  numbers.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

describe('a critic', () => {
  it.each([
    ['as one graph', 'off'],
    ['layer by layer', 'on'],
  ] as const)('has values, losses and gradients of PyTorch, %s', async (_, gradientCheckpointing) => {
    const engine = await startReference({ gradientCheckpointing });
    const values = await valuesOf(engine, [golden]);
    values.forEach((value, token) => expect(value).toBeCloseTo(expected.values[token], 5));
    for (const [clip, value] of Object.entries(expected.losses)) {
      await engine.discardGradients('critic');
      const { metrics, values: before } = await passLoss(engine, Number(clip));
      expect(metrics.loss / value).toBeCloseTo(1, 5);
      expect(metrics).toMatchObject({ tokens: values.length, passes: 1 });
      expect(metrics).not.toHaveProperty('entropy');
      expect(before!.flatMap(trained)).toEqual(values);
    }
    // The first moment of AdamW is then a tenth of the gradient.
    await step(engine, { model: 'critic', maxGradNorm: 0, optimizer: { name: 'adamw', beta1: 0.9 } });
    const dir = join(scratch, `stepped ${gradientCheckpointing}`);
    await engine.saveState({ model: 'critic', dir });
    const moments = await readSafetensors(join(dir, 'optimizer.safetensors'));
    const gradients = await readSafetensors(join(goldens, 'gradients.safetensors'));
    expect(gradients.size).toBe(moments.size / 2);
    for (const [name, { data }] of gradients) {
      const moment = moments.get(`${name}.exp_avg`)!.data;
      const gap = largest(data.map((value, i) => 10 * moment[i] - value));
      expect([name, gap < 1e-4 * Math.max(largest(data), 1e-2)]).toEqual([name, true]);
    }
  });

  it('has the gradients of finite differences', async () => {
    const engine = await startReference();
    await passLoss(engine, 0);
    await step(engine, { model: 'critic', maxGradNorm: 0, optimizer: { name: 'adamw', beta1: 0.9 } });
    const dir = join(scratch, 'derivatives');
    await engine.saveState({ model: 'critic', dir });
    const moments = await readSafetensors(join(dir, 'optimizer.safetensors'));
    const files = ['adapter_model.safetensors', 'value_head.safetensors'];
    const tensors = await Promise.all(files.map((file) => readSafetensors(join(reference, file))));
    const moved = join(scratch, 'moved');
    cpSync(reference, moved, { recursive: true });
    const names = tensors.flatMap((each) => [...each.keys()]).filter((_name, index) => index % 5 === 0);
    for (const name of [...names, 'value_head.weight', 'value_head.bias']) {
      const file = tensors.findIndex((each) => each.has(name));
      const gradient = moments.get(`${name}.exp_avg`)!.data.map((value) => 10 * value);
      const at = gradient.findIndex((value) => Math.abs(value) === largest(gradient));
      const { data } = tensors[file].get(name)!;
      const lossAt = async (by: number): Promise<number> => {
        data[at] += by;
        await writeSafetensors(join(moved, files[file]), tensors[file]);
        data[at] -= by;
        await engine.loadState({ model: 'critic', dir: moved, optimizer: false });
        return (await passLoss(engine, 0)).metrics.loss;
      };
      const difference = ((await lossAt(1e-2)) - (await lossAt(-1e-2))) / 2e-2;
      await writeSafetensors(join(moved, files[file]), tensors[file]);
      expect(Math.abs(difference - gradient[at])).toBeLessThan(0.02 * Math.abs(gradient[at]) + 2e-3);
    }
  });

  it.each([
    ['an adapter', adapter()],
    ['all weights', allWeights],
  ])('learns beside a policy that trains %s, and neither changes the other', async (_, policy) => {
    const engine = await model.start({ models: [policy, critic] });
    const lessons = model.lessons();
    const data = lessons.map((datum, index) => ({
      ...datum,
      lossInputs: {
        values: Array.from(datum.weights, () => 0),
        returns: Array.from(datum.weights, () => (index % 2 === 0 ? 1 : -1)),
      },
    }));
    // A fresh critic predicts 0 for every state.
    expect((await valuesOf(engine, data)).every((value) => value === 0)).toBe(true);
    const before = await scores(engine, lessons);
    const loss = { name: 'value', value_clip: 0 };
    const losses: number[] = [];
    for (let at = 0; at < 25; at += 1) {
      losses.push((await train(engine, data, { model: 'critic', loss })).loss);
    }
    expect(losses.at(-1)!).toBeLessThan(losses[0] / 20);
    expect(await scores(engine, lessons)).toEqual(before);
    const values = await valuesOf(engine, data);
    await train(engine, lessons);
    expect(await valuesOf(engine, data)).toEqual(values);
    expect(await scores(engine, lessons)).not.toEqual(before);
  });

  it('continues from its checkpoint with equal results, and refuses a checkpoint of another model', async () => {
    const [dir, policyDir] = [join(scratch, 'critic', '000001'), join(scratch, 'policy')];
    const models = [adapter(), critic];
    const loss = { name: 'value' };
    const learn = (engine: Engine) => train(engine, [golden], { model: 'critic', loss });
    const first = await model.start({ models });
    await learn(first);
    const saved = await first.saveState({ model: 'critic', dir });
    const { digest } = await learn(first);
    const second = await model.start({ models });
    expect(await second.loadState({ model: 'critic', dir, optimizer: true })).toEqual(saved);
    expect((await learn(second)).digest).toBe(digest);
    await second.saveState({ model: 'policy', dir: policyDir });
    await expect(second.loadState({ model: 'critic', dir: policyDir, optimizer: true })).rejects.toThrow(
      'holds lora weights, but the engine trains critic weights',
    );
    await expect(second.loadState({ model: 'policy', dir, optimizer: true })).rejects.toThrow(
      'holds critic weights, but the engine trains lora weights',
    );
    await rm(join(dir, 'value_head.safetensors'));
    await expect(second.loadState({ model: 'critic', dir, optimizer: true })).rejects.toMatchObject({
      category: 'checkpoint',
      message: expect.stringContaining('value_head.safetensors cannot be read'),
    });
  });

  it('is neither sampled from nor trained by a loss of policies, and is an adapter', async () => {
    const engine = await model.start({ models: [adapter(), critic] });
    const request = model.request(model.prompt(1), { model: 'critic' });
    await expect(engine.sample(request)).rejects.toThrow('a critic gives values, no tokens');
    await expect(engine.saveWeightsForSampler({ model: 'critic', name: 'kept' })).rejects.toThrow(
      'it cannot be sampled from',
    );
    const attempt = (name: string, of: string) =>
      engine.forwardBackward({ model: of, data: [golden], loss: { name } });
    await expect(attempt('cross_entropy', 'critic')).rejects.toThrow(
      'the loss cross_entropy trains a policy, but critic is a critic',
    );
    await expect(attempt('value', 'policy')).rejects.toThrow(
      'the loss value trains a critic, but policy is a policy',
    );
    for (const trainable of [allWeights.trainable, frozen.trainable]) {
      await expect(model.start({ models: [{ ...critic, trainable }] })).rejects.toThrow(
        `critic is a critic with the mode ${trainable.mode}; expected lora`,
      );
    }
  });
});
