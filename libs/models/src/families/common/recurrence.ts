import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { SamplerOptions, StatePort } from '../base';
import type { DecoderConfig } from './decoder-config';
import {
  convolvedSize,
  convolveWhole,
  type LinearAttentionConfig,
  type Recurrence,
} from './linear-attention';

/**
 * The states of a decoder's linear-attention layers: the last inputs of the convolution, and the state of the delta
 * rule.
 */
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

/** Marks the tokens of a right-padded pass. */
interface Padding {
  /** [B, T] 1 for tokens, 0 for padding */
  tokenMask: Value;
  /**
   * int64 [B, kernel-1] indices of each row's last tokens, among the tokens of all rows preceded by their remembered
   * ones
   */
  lastTokens: Value;
}

/** Inputs of a pass over right-padded rows, see `samplerStateFeeds`. */
function declarePadding(graph: Graph, { kernel }: LinearAttentionConfig): Padding {
  return {
    tokenMask: graph.input('token_mask', 'float32', ['B', 'T']),
    lastTokens: graph.input('last_tokens', 'int64', ['B', kernel - 1]),
  };
}

/** The last inputs of the convolution of each row, [B, kernel-1, C], without padding. */
function lastInputs(x: Value, past: Value | undefined, { lastTokens }: Padding): Value {
  const [B, , C] = x.shape;
  const [, remembered] = lastTokens.shape;
  const before = past ?? ops.full(x.graph, [B, remembered, C], 0);
  return ops.gather(ops.flattenRows(ops.concat([before, x], 1)), lastTokens, 0);
}

/**
 * Passes states through the sampler: reads the states of rows that have any, and outputs the new ones. Padding leaves
 * them unchanged.
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
      if (padding !== undefined) {
        graph.output(inputs.next, lastInputs(x, past, padding));
        return convolveWhole(x, weight, past);
      }
      const { y, state } = ops.causalConvolution(x, weight, past);
      graph.output(inputs.next, state);
      return y;
    },
    recur: (layer, { decay, beta, ...packed }) => {
      const port = portsOf(config, layer).state;
      // Padding neither decays nor writes the state.
      const operands = { ...packed, decay: masked(decay), beta: masked(beta), past: pastOf(port) };
      const { answers, state } = ops.linearAttention(operands, config);
      graph.output(port.next, state);
      return answers;
    },
  };
}
