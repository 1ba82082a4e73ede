import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSmallTokenizer } from '@ui-rl/models';
import { vocabulary } from '../../../plugins/task-source-demo/src';
import { ACTION_PIECES } from '../../e2e/support/small-model';

/** Writes shape and tokenizer of a Qwen3-VL with 0.8 million parameters, for which each word of the demo phone is a token. */
export function writeShape(folder: string): void {
  const { files, vocabulary: tokens } = buildSmallTokenizer(vocabulary(), ACTION_PIECES);
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, 'config.json'), JSON.stringify(configOf(tokens)));
}

function configOf(tokens: ReadonlyMap<string, number>): Record<string, unknown> {
  const id = (token: string) => tokens.get(token)!;
  return {
    architectures: ['Qwen3VLForConditionalGeneration'],
    model_type: 'qwen3_vl',
    tie_word_embeddings: true,
    ...{ image_token_id: id('<|image_pad|>'), video_token_id: id('<|video_pad|>') },
    ...{ vision_start_token_id: id('<|vision_start|>'), vision_end_token_id: id('<|vision_end|>') },
    text_config: {
      model_type: 'qwen3_vl_text',
      ...{ vocab_size: tokens.size, hidden_size: 128, intermediate_size: 384, num_hidden_layers: 3 },
      ...{
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 32,
        hidden_act: 'silu',
        rms_norm_eps: 1e-6,
      },
      ...{
        attention_bias: false,
        attention_dropout: 0,
        max_position_embeddings: 4096,
        tie_word_embeddings: true,
      },
      ...{
        pad_token_id: id('<|endoftext|>'),
        bos_token_id: id('<|endoftext|>'),
        eos_token_id: id('<|im_end|>'),
        initializer_range: 0.02,
        rope_theta: 1_000_000,
      },
      rope_scaling: { rope_type: 'default', mrope_interleaved: true, mrope_section: [6, 5, 5] },
    },
    // The run has no images.
    vision_config: {
      ...{
        model_type: 'qwen3_vl',
        depth: 1,
        hidden_size: 32,
        intermediate_size: 64,
        num_heads: 2,
        in_channels: 3,
      },
      ...{ patch_size: 16, temporal_patch_size: 2, spatial_merge_size: 2, out_hidden_size: 128 },
      ...{ num_position_embeddings: 196, deepstack_visual_indexes: [], hidden_act: 'gelu_pytorch_tanh' },
    },
    dtype: 'float32',
  };
}
