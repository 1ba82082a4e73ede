import { ops, type Value } from '@ui-rl/graph';

/** Rotary tables as they are multiplied: cosine twice, and sine with the first half negated. Each [..., headDim]. */
export interface RotaryTables {
  cos: Value;
  sin: Value;
}

/** Tables from the halves that are fed, [..., headDim / 2]. */
export function rotaryTables(cosHalf: Value, sinHalf: Value): RotaryTables {
  const axis = cosHalf.rank - 1;
  return {
    cos: ops.concat([cosHalf, cosHalf], axis),
    sin: ops.concat([ops.neg(sinHalf), sinHalf], axis),
  };
}

/** Rotates pairs (i, i + headDim/2) of the last axis: x·cos + swapHalves(x)·sin. */
export function rotate(x: Value, { cos, sin }: RotaryTables, headDim: number): Value {
  const axis = x.rank - 1;
  const [first, second] = ops.split(x, axis, [headDim / 2, headDim / 2]);
  const swapped = ops.concat([second, first], axis);
  return ops.add(ops.mul(x, cos), ops.mul(swapped, sin));
}

/** The rotary frequencies θ^(−2i/dim), i < dim/2 (RoFormer, arXiv:2104.09864, equation 15). */
export function rotaryFrequencies(theta: number, dim: number): Float32Array {
  return Float32Array.from({ length: dim / 2 }, (_, i) => 1 / theta ** ((2 * i) / dim));
}
