import type { ConfigReader } from '../../config-reader';
import {
  outputWeight,
  parseDecoder,
  type DecoderConfig,
  type DecoderDefaults,
  type RopeConfig,
} from './decoder-config';
import type { RopeScaling } from './rope-scaling';

/** Defaults and biases of a kind of decoder. */
interface DecoderKind {
  defaults: DecoderDefaults & { maxPositions: number };
  /** biases of queries, keys and values, and of the output projection */
  biases: (reader: ConfigReader) => Pick<DecoderConfig, 'qkvBias' | 'outputBias'>;
  /** whether queries and keys are normalized per head, default false */
  qkNorm?: boolean;
  /** sliding-window size of attention in tokens; null for full attention */
  window: (reader: ConfigReader) => number | null;
}

const wide = { hiddenSize: 4096, layers: 32, heads: 32, normEps: 1e-6 };

/** @throws ModelError if a Qwen config.json enables its sliding window. */
function noWindow(reader: ConfigReader): null {
  if (reader.boolean('use_sliding_window', false)) throw reader.error('use_sliding_window', 'false');
  return null;
}

/** Decoders with one-dimensional rotary positions, by the `model_type` of their configuration. */
const kinds: Record<string, DecoderKind> = {
  llama: {
    defaults: { ...wide, vocabSize: 32_000, intermediateSize: 11_008, maxPositions: 2048 },
    biases: (reader) => {
      if (reader.boolean('mlp_bias', false)) throw reader.error('mlp_bias', 'false');
      const bias = reader.boolean('attention_bias', false);
      return { qkvBias: bias, outputBias: bias };
    },
    window: () => null,
  },
  mistral: {
    defaults: { ...wide, vocabSize: 32_000, intermediateSize: 14_336, kvHeads: 8, maxPositions: 131_072 },
    biases: () => ({ qkvBias: false, outputBias: false }),
    window: (reader) => reader.optionalInteger('sliding_window', 4096),
  },
  qwen2: {
    defaults: { ...wide, vocabSize: 151_936, intermediateSize: 22_016, maxPositions: 32_768 },
    biases: () => ({ qkvBias: true, outputBias: false }),
    window: noWindow,
  },
  qwen3: {
    defaults: { ...wide, vocabSize: 151_936, intermediateSize: 22_016, headDim: 128, maxPositions: 32_768 },
    biases: (reader) => {
      const bias = reader.boolean('attention_bias', false);
      return { qkvBias: bias, outputBias: bias };
    },
    qkNorm: true,
    window: noWindow,
  },
};

/** Scaling of a rope section; undefined for none. */
export function parseScaling(rope: ConfigReader): RopeScaling | undefined {
  const kind = rope.oneOf(
    rope.has('rope_type') ? 'rope_type' : 'type',
    ['default', 'linear', 'llama3', 'dynamic'],
    'default',
  );
  switch (kind) {
    case 'linear':
      return { kind: 'linear', factor: rope.number('factor') };
    case 'llama3':
      return {
        kind: 'llama3',
        factor: rope.number('factor'),
        lowFrequencyFactor: rope.number('low_freq_factor'),
        highFrequencyFactor: rope.number('high_freq_factor'),
        originalPositions: rope.integer('original_max_position_embeddings'),
      };
    default:
      // `dynamic` changes no frequency up to max_position_embeddings, and longer sequences are rejected.
      return undefined;
  }
}

/**
 * Original folders have `rope_theta` and optionally `rope_scaling`; transformers 5 writes both to `rope_parameters`.
 */
function parseRope(reader: ConfigReader): RopeConfig {
  const key = ['rope_parameters', 'rope_scaling'].find((name) => reader.has(name));
  const rope = key === undefined ? undefined : reader.section(key);
  const theta = rope?.has('rope_theta') === true ? rope : reader;
  const scaling = rope === undefined ? undefined : parseScaling(rope);
  return {
    theta: theta.number('rope_theta', 10_000),
    sections: null,
    interleaved: false,
    scaling,
  };
}

/** The modules of a family's decoder. */
export interface TextModules {
  /** module that contains embed_tokens, layers and norm */
  prefix: string;
  /** default of `text_config.model_type` */
  modelType: string;
}

/**
 * Parses the decoder of a family that uses any of Llama, Mistral, Qwen2 and Qwen3, from `text_config`. Sliding-window
 * attention equals full attention up to the length of the window, and longer sequences are not supported:
 * `maxPositions` ends there.
 * @throws ModelError naming the field if something is missing, contradictory or unsupported.
 */
export function parseTextConfig(top: ConfigReader, { prefix, modelType }: TextModules): DecoderConfig {
  const reader = top.section('text_config');
  const { defaults, biases, qkNorm, window } =
    kinds[reader.oneOf('model_type', Object.keys(kinds), modelType)];
  const positions = reader.integer('max_position_embeddings', defaults.maxPositions);
  return parseDecoder(
    reader,
    {
      prefix,
      outputWeight: outputWeight(prefix, top, reader),
      ...biases(reader),
      qkNorm: qkNorm ?? false,
      rope: parseRope(reader),
      maxPositions: Math.min(positions, window(reader) ?? positions),
    },
    defaults,
  );
}
