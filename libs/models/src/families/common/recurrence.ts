import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { SamplerOptions, StatePort } from '../base';
import type { DecoderConfig } from './decoder-config';
import { convolvedSize, type LinearAttentionConfig, type Recurrence } from './linear-attention';

/** The states of a decoder's layers of linear attention: what the convolution has seen last, and the state of the delta rule. */
export function statePorts({ linearAttention: config }: Pick<DecoderConfig, 'linearAttention'>): StatePort[] {
  return [...(config?.layers ?? [])].flatMap((layer) => Object.values(portsOf(config!, layer)));
}

function portsOf(config: LinearAttentionConfig, layer: number): { inputs: StatePort; state: StatePort } {
  const { heads, keyDim, valueDim, kernel } = config;
  const port = (name: string, shape: number[]): StatePort => ({
    past: `past_${name}.${layer}`,
    next: `next_${name}.${layer}`,
    shape,
  });
  return {
    inputs: port('convolved', [kernel - 1, convolvedSize(config)]),
    state: port('state', [heads, keyDim, valueDim]),
  };
}

/** Which rows of a right-padded pass stand for tokens. */
interface Padding {
  /** [B, T] 1 for tokens, 0 for padding */
  tokenMask: Value;
  /** int64 [B, kernel-1] where, among the tokens of all rows with those that each row remembers before them, the last ones stand */
  lastTokens: Value;
}

/** Inputs of a pass over right-padded rows, see `samplerStateFeeds`. */
function declarePadding(graph: Graph, { kernel }: LinearAttentionConfig): Padding {
  return {
    tokenMask: graph.input('token_mask', 'float32', ['B', 'T']),
    lastTokens: graph.input('last_tokens', 'int64', ['B', kernel - 1]),
  };
}

/** The last inputs of the convolution of each row, [B, kernel-1, C], whatever pads it. */
function lastInputs(x: Value, past: Value | undefined, { lastTokens }: Padding): Value {
  const [B, , C] = x.shape;
  const [, remembered] = lastTokens.shape;
  const before = past ?? ops.full(x.graph, [B, remembered, C], 0);
  return ops.gather(ops.flattenRows(ops.concat([before, x], 1)), lastTokens, 0);
}

/**
 * How the states of rows go through a pass of the sampler: they are read where rows have some, and what becomes of them are outputs.
 * Padding leaves them as they are.
 */
export function passRecurrence(
  graph: Graph,
  config: LinearAttentionConfig,
  pass: SamplerOptions['pass'],
): Recurrence {
  const padding = pass === 'token' ? undefined : declarePadding(graph, config);
  const pastOf = ({ past, shape }: StatePort): Value | undefined =>
    pass === 'prompt' ? undefined : graph.input(past, 'float32', ['B', ...shape]);
  const masked = (x: Value): Value =>
    padding === undefined ? x : ops.mul(x, ops.unsqueeze(padding.tokenMask, [2]));
  return {
    convolve: (layer, x, weight) => {
      const { inputs } = portsOf(config, layer);
      const past = pastOf(inputs);
      const { y, state } = ops.causalConvolution(x, weight, past);
      graph.output(inputs.next, padding === undefined ? state : lastInputs(x, past, padding));
      return y;
    },
    recur: (layer, { decay, beta, ...packed }) => {
      const port = portsOf(config, layer).state;
      // Nothing decays and nothing is written where there is no token.
      const operands = { ...packed, decay: masked(decay), beta: masked(beta), past: pastOf(port) };
      const { answers, state } = ops.linearAttention(operands, config);
      graph.output(port.next, state);
      return answers;
    },
  };
}
