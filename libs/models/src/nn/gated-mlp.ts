import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from './layer-builder';

export interface GatedMlpSize {
  inFeatures: number;
  width: number;
  outFeatures: number;
  /** default `silu` */
  activation?: 'silu' | 'gelu_tanh' | undefined;
}

/** Gated feed-forward network without biases: down(activation(gate(x)) · up(x)); x [R, in] → [R, out]. */
export function gatedMlp(
  build: LayerBuilder,
  x: Value,
  name: string,
  { inFeatures, width, outFeatures, activation }: GatedMlpSize,
): Value {
  const into = { inFeatures, outFeatures: width, bias: false };
  const projected = build.linear(x, `${name}.gate_proj`, into);
  const gate = activation === 'gelu_tanh' ? ops.gelu(projected, 'tanh') : ops.silu(projected);
  const gated = ops.mul(gate, build.linear(x, `${name}.up_proj`, into));
  return build.linear(gated, `${name}.down_proj`, { inFeatures: width, outFeatures, bias: false });
}
