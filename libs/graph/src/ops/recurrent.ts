import { float } from '../attributes';
import type { Value } from '../graph';

/** Operands of {@link linearAttention}. */
export interface LinearAttentionInputs {
  /** [B, T, keyHeads · dk] */
  q: Value;
  k: Value;
  /** [B, T, heads · dv] */
  v: Value;
  /** [B, T, heads] logarithm of the state's decay */
  decay: Value;
  /** [B, T, heads] */
  beta: Value;
  /** [B, heads, dk, dv] the state before the first token; default: zero */
  past?: Value | undefined;
}

/** Sizes of {@link linearAttention}. */
export interface LinearAttentionHeads {
  /** a divisor of `heads`: each key head serves several value heads */
  keyHeads: number;
  heads: number;
  /** dk and dv */
  keyDim: number;
  valueDim: number;
}

/**
 * The gated delta rule token by token (arXiv:2412.06464, equation 10), in one operation without a derivative.
 * @returns outputs [B, T, heads · dv] and the state after the last token
 */
export function linearAttention(
  { q, k, v, decay, beta, past }: LinearAttentionInputs,
  { keyHeads, heads, keyDim, valueDim }: LinearAttentionHeads,
): { answers: Value; state: Value } {
  const attributes = {
    q_num_heads: keyHeads,
    kv_num_heads: heads,
    update_rule: 'gated_delta',
    scale: float(1),
  };
  const outputs = [
    { dtype: v.dtype, shape: v.shape },
    { dtype: v.dtype, shape: [v.shape[0], heads, keyDim, valueDim] },
  ];
  const inputs = [q, k, v, past ?? null, decay, beta];
  const [answers, state] = v.graph.node('LinearAttention', inputs, attributes, outputs, 'com.microsoft');
  return { answers, state };
}

/**
 * silu of a depthwise causal convolution, in one operation without a derivative: x [B, T, C], weight [C, 1, K].
 * @param past [B, K-1, C] inputs before the first token; default: zeros
 * @returns [B, T, C], and the last K-1 inputs of all [B, K-1, C]
 */
export function causalConvolution(x: Value, weight: Value, past?: Value): { y: Value; state: Value } {
  const [B, , C] = x.shape;
  const attributes = { activation: 'silu', channels_last: 1 };
  const outputs = [
    { dtype: x.dtype, shape: x.shape },
    { dtype: x.dtype, shape: [B, Number(weight.shape[2]) - 1, C] },
  ];
  const inputs = [x, weight, null, past ?? null];
  const [y, state] = x.graph.node('CausalConvWithState', inputs, attributes, outputs, 'com.microsoft');
  return { y, state };
}
