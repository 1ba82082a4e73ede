import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from './layer-builder';

export interface GatedMlpSize {
  inFeatures: number;
  width: number;
  outFeatures: number;
}

/** Gated feed-forward network without biases: down(silu(gate(x)) · up(x)); x [R, in] → [R, out]. */
export function gatedMlp(
  build: LayerBuilder,
  x: Value,
  name: string,
  { inFeatures, width, outFeatures }: GatedMlpSize,
): Value {
  const into = { inFeatures, outFeatures: width, bias: false };
  const gate = ops.silu(build.linear(x, `${name}.gate_proj`, into));
  const gated = ops.mul(gate, build.linear(x, `${name}.up_proj`, into));
  return build.linear(gated, `${name}.down_proj`, { inFeatures: width, outFeatures, bias: false });
}
