import type { Conventions } from '../definition';
import { CLIP, HALVES, qwenText, visionOf } from './conventions';

type Json = Record<string, unknown>;

function qwenImages(config: Json, patchSize: number, rest: Json): Json {
  const vision = visionOf(config);
  return {
    image_processor_type: 'Qwen2VLImageProcessor',
    patch_size: vision.patch_size ?? patchSize,
    temporal_patch_size: vision.temporal_patch_size ?? 2,
    merge_size: vision.spatial_merge_size ?? 2,
    ...rest,
  };
}

const qwen = {
  specials: [
    ...qwenText,
    { content: '<|vision_start|>', keys: ['vision_start_token_id'], usual: 151652 },
    { content: '<|vision_end|>', keys: ['vision_end_token_id'], usual: 151653 },
    { content: '<|vision_pad|>', keys: ['vision_token_id'], usual: 151654 },
    { content: '<|image_pad|>', keys: ['image_token_id'], usual: 151655 },
    { content: '<|video_pad|>', keys: ['video_token_id'], usual: 151656 },
  ],
  endOfTurn: '<|im_end|>',
  pad: '<|endoftext|>',
  image: '<|vision_start|><|image_pad|><|vision_end|>',
};

/** Qwen2-VL and Qwen2.5-VL. */
export const qwen2Conventions: Conventions = {
  ...qwen,
  images: (config) => qwenImages(config, 14, { ...CLIP, min_pixels: 56 * 56, max_pixels: 28 * 28 * 16384 }),
};

/** Qwen3-VL. */
export const qwen3Conventions: Conventions = {
  ...qwen,
  images: (config) =>
    qwenImages(config, 16, { ...HALVES, size: { shortest_edge: 256 * 256, longest_edge: 4096 * 4096 } }),
};

/** Token ids of Qwen3.5's vocabulary. */
export const qwen35Conventions: Conventions = {
  ...qwen3Conventions,
  specials: [
    { content: '<|endoftext|>', usual: 248044 },
    { content: '<|im_start|>', usual: 248045 },
    { content: '<|im_end|>', usual: 248046 },
    { content: '<|vision_start|>', keys: ['vision_start_token_id'], usual: 248053 },
    { content: '<|vision_end|>', keys: ['vision_end_token_id'], usual: 248054 },
    { content: '<|image_pad|>', keys: ['image_token_id'], usual: 248056 },
    { content: '<|video_pad|>', keys: ['video_token_id'], usual: 248057 },
  ],
};
