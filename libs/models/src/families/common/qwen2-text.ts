import type { ConfigReader } from '../../config-reader';
import {
  mropeSections,
  outputWeight,
  parseDecoder,
  type DecoderConfig,
  type RopeConfig,
} from './decoder-config';

/** Modules of Qwen2-VL and Qwen2.5-VL in transformers. */
export const visionPrefix = 'model.visual';
const textPrefix = 'model.language_model';

/** Checkpoints use the names of the first release: `visual.` and `model.` instead of the current module names. */
export function qwen2CheckpointName(name: string): string {
  if (name.startsWith(`${visionPrefix}.`)) return name.slice('model.'.length);
  return name.startsWith(`${textPrefix}.`) ? `model.${name.slice(textPrefix.length + 1)}` : name;
}

/**
 * Original folders have `"type": "mrope"` with `rope_theta` beside it; transformers 5 writes both to
 * `rope_parameters`.
 */
function parseRope(reader: ConfigReader, headDim: number): RopeConfig {
  const rope = reader.section(reader.has('rope_parameters') ? 'rope_parameters' : 'rope_scaling');
  rope.oneOf(rope.has('rope_type') ? 'rope_type' : 'type', ['default', 'mrope'], 'default');
  const theta = rope.has('rope_theta') ? rope.number('rope_theta') : reader.number('rope_theta', 1_000_000);
  return { theta, sections: mropeSections(rope, headDim), interleaved: false };
}

/**
 * The decoder of Qwen2-VL and Qwen2.5-VL: biases on queries, keys and values, M-RoPE in sections. Its fields are in
 * `text_config`, or at the top level of config.json as in the original folders.
 */
export function parseQwen2Text(top: ConfigReader): DecoderConfig {
  const reader = top.has('text_config') ? top.section('text_config') : top;
  if (reader.boolean('use_sliding_window', false)) throw reader.error('use_sliding_window', 'false');
  const headDim = reader.integer('hidden_size') / reader.integer('num_attention_heads');
  return parseDecoder(
    reader,
    {
      prefix: textPrefix,
      outputWeight: outputWeight(textPrefix, top, reader),
      qkvBias: true,
      outputBias: false,
      qkNorm: false,
      rope: parseRope(reader, headDim),
      maxPositions: reader.integer('max_position_embeddings', 32_768),
    },
    { normEps: 1e-5 },
  );
}
