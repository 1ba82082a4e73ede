import type { SpecialToken } from '../definition';

type Json = Record<string, unknown>;

/** Normalizations that several families share. */
export const CLIP = {
  image_mean: [0.48145466, 0.4578275, 0.40821073],
  image_std: [0.26862954, 0.26130258, 0.27577711],
};
export const HALVES = { image_mean: [0.5, 0.5, 0.5], image_std: [0.5, 0.5, 0.5] };

/** `vision_config` of config.json. */
export function visionOf(config: Json): Json {
  return (config.vision_config ?? {}) as Json;
}

/** Tokens of Qwen's text models. */
export const qwenText: SpecialToken[] = [
  { content: '<|endoftext|>', keys: ['bos_token_id'], usual: 151643 },
  { content: '<|im_start|>', usual: 151644 },
  { content: '<|im_end|>', keys: ['eos_token_id'], usual: 151645 },
];

/** Tokens of Llama 2, Vicuna and Mistral. */
export const llamaText: SpecialToken[] = [
  { content: '<unk>', usual: 0 },
  { content: '<s>', keys: ['bos_token_id'], usual: 1 },
  { content: '</s>', keys: ['eos_token_id'], usual: 2 },
];

/** `<image>` at the id in the configuration, whose field has been renamed. */
export const imageToken: SpecialToken = { content: '<image>', keys: ['image_token_index', 'image_token_id'] };

/** End of a turn in the Idefics families. */
export const endOfUtterance = '<end_of_utterance>';
