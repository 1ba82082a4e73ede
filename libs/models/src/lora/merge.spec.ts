import { join } from 'node:path';
import { Session, tensor, type Tensor } from '@ui-rl/graph';
import { loadFamily } from '../folder';
import { Parameters, type ParametersOptions } from '../nn/parameters';
import { WeightStore } from '../weights/store';
import type { Family } from '../families/base';
import { loadAdapter } from './adapter';
import { mergeAdapter } from './merge';
import { predictingNext } from '../families/common/next-tokens';

const fixtures = join(__dirname, '../../../../test/golden/fixtures');
const tokenIds = [17, 42, 8, 99, 120, 3, 77, 61, 200, 5];

async function logProbs(
  family: Family,
  options: ParametersOptions,
  adapter: Readonly<Record<string, Tensor>> = {},
): Promise<Float32Array> {
  const parameters = new Parameters(options);
  const { graph, logProbs: values } = family.buildForward({ kind: 'trainer', parameters, images: 'none' });
  graph.output('log_probs', values);
  const session = await Session.create(graph, { threads: 1 });
  const row = { ...predictingNext(tokenIds), images: [] };
  const { feeds } = family.trainerFeeds([row], [], { images: 'none' });
  const taken = [...parameters.inputs.keys()].map((name) => [name, adapter[name]] as const);
  const { log_probs: found } = await session.run({ ...feeds, ...Object.fromEntries(taken) });
  await session.release();
  return found.data as Float32Array;
}

test.each(['qwen3-vl-b', 'qwen3-vl-moe-a', 'qwen3-vl-moe-b', 'qwen3-5-a', 'qwen3-5-moe-a'])(
  '%s with an adapter merged in computes what it does with the adapter beside',
  async (name) => {
    const family = await loadFamily(join(fixtures, name, 'model'));
    const weights = await WeightStore.open(join(fixtures, name, 'model'));
    await weights.holdAsFloat32();
    const adapter = await loadAdapter(join(fixtures, name, 'adapter'), family);
    const feeds = Object.fromEntries(
      [...adapter.tensors].map(([key, { data, shape }]) => [key, tensor('float32', data, shape)]),
    );
    const beside = await logProbs(family, { weights, lora: adapter.plan }, feeds);
    const merged = WeightStore.fromTensors(await mergeAdapter({ family, weights }, adapter));
    const found = await logProbs(family, { weights: merged });
    const without = await logProbs(family, { weights });
    const difference = (other: Float32Array): number =>
      Math.max(...beside.map((value, i) => Math.abs(value - other[i])));
    expect(difference(found)).toBeLessThan(1e-4);
    expect(difference(without)).toBeGreaterThan(1e-2);
  },
);
