import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { FloatTensor } from '../../weights/safetensors';
import type { ModelShape } from '../base';

const HEAD = 'value_head';

/** The weights of a critic's head, a linear layer with one output. */
export function valueHeadParameters({ hiddenSize }: Pick<ModelShape, 'hiddenSize'>): {
  name: string;
  shape: number[];
}[] {
  return [
    { name: `${HEAD}.weight`, shape: [1, hiddenSize] },
    { name: `${HEAD}.bias`, shape: [1] },
  ];
}

/** Whether a weight belongs to the value head. */
export function isOfValueHead(name: string): boolean {
  return name.startsWith(`${HEAD}.`);
}

/** A new head: its values are 0, so that the first advantages equal those of a run without a critic. */
export function initializeValueHead(shape: Pick<ModelShape, 'hiddenSize'>): Map<string, FloatTensor> {
  return new Map(
    valueHeadParameters(shape).map(({ name, shape: dims }) => [
      name,
      { shape: dims, data: new Float32Array(dims.reduce((a, b) => a * b, 1)) },
    ]),
  );
}

/** Hidden states [M, hidden] → values [M]. */
export function buildValueHead(build: LayerBuilder, hidden: Value, inFeatures: number): Value {
  return ops.squeeze(build.linear(hidden, HEAD, { inFeatures, outFeatures: 1, bias: true }), [1]);
}
