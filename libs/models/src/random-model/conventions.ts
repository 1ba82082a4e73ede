import { ModelError } from '../errors';
import type { Family } from '../families/base';
import type { SpecialToken } from './tokenizer';

type Json = Record<string, unknown>;

/** Prompt and image conventions of a family, for models without the files that define them. */
export interface Conventions {
  /** in addition to {@link Family.imageMarks} */
  specials: readonly SpecialToken[];
  /** special tokens by their role */
  endOfTurn: string;
  pad: string;
  /** the chat template's text for an image */
  image: string;
  /** preprocessor_config.json */
  images(config: Json): Json;
}

const CLIP = {
  image_mean: [0.48145466, 0.4578275, 0.40821073],
  image_std: [0.26862954, 0.26130258, 0.27577711],
};
const IMAGENET = { image_mean: [0.485, 0.456, 0.406], image_std: [0.229, 0.224, 0.225] };
const HALVES = { image_mean: [0.5, 0.5, 0.5], image_std: [0.5, 0.5, 0.5] };
/** Filters by Pillow's numbers. */
const [LANCZOS, BILINEAR, BICUBIC] = [1, 2, 3];

function section(config: Json, name: string): Json {
  return (config[name] ?? {}) as Json;
}

function qwenImages(config: Json, patchSize: number, rest: Json): Json {
  const vision = section(config, 'vision_config');
  return {
    image_processor_type: 'Qwen2VLImageProcessor',
    patch_size: vision.patch_size ?? patchSize,
    temporal_patch_size: vision.temporal_patch_size ?? 2,
    merge_size: vision.spatial_merge_size ?? 2,
    ...rest,
  };
}

/** Tokens of Qwen's text models. */
const qwenText: SpecialToken[] = [
  { content: '<|endoftext|>', keys: ['bos_token_id'], usual: 151643 },
  { content: '<|im_start|>', usual: 151644 },
  { content: '<|im_end|>', keys: ['eos_token_id'], usual: 151645 },
];

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

const qwen2: Conventions = {
  ...qwen,
  images: (config) => qwenImages(config, 14, { ...CLIP, min_pixels: 56 * 56, max_pixels: 28 * 28 * 16384 }),
};

const qwen3: Conventions = {
  ...qwen,
  images: (config) =>
    qwenImages(config, 16, { ...HALVES, size: { shortest_edge: 256 * 256, longest_edge: 4096 * 4096 } }),
};

/** Token ids of Qwen3.5's vocabulary. */
const qwen35: Conventions = {
  ...qwen3,
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

/** Tokens of Llama 2, Vicuna and Mistral. */
const llamaText: SpecialToken[] = [
  { content: '<unk>', usual: 0 },
  { content: '<s>', keys: ['bos_token_id'], usual: 1 },
  { content: '</s>', keys: ['eos_token_id'], usual: 2 },
];

/** `<image>` at the id in the configuration, whose field has been renamed. */
const image: SpecialToken = { content: '<image>', keys: ['image_token_index', 'image_token_id'] };

const llava: Conventions = {
  specials: [image, { content: '<pad>', keys: ['pad_token_id'], usual: 32001 }, ...llamaText],
  endOfTurn: '</s>',
  pad: '<pad>',
  image: '<image>\n',
  images: (config) => {
    const edge = section(config, 'vision_config').image_size ?? 336;
    return {
      image_processor_type: 'CLIPImageProcessor',
      ...CLIP,
      do_center_crop: true,
      crop_size: { height: edge, width: edge },
      resample: BICUBIC,
      size: { shortest_edge: edge },
    };
  },
};

const oneVision: Conventions = {
  specials: [image, { content: '<video>', keys: ['video_token_index', 'video_token_id'] }, ...qwenText],
  endOfTurn: '<|im_end|>',
  pad: '<|endoftext|>',
  image: '<image>\n',
  images: (config) => {
    const edge = section(config, 'vision_config').image_size ?? 384;
    return {
      image_processor_type: 'LlavaOnevisionImageProcessor',
      ...HALVES,
      image_grid_pinpoints: config.image_grid_pinpoints,
      resample: BICUBIC,
      size: { height: edge, width: edge },
    };
  },
};

const endOfUtterance = '<end_of_utterance>';

/** Idefics3 and SmolVLM: tiles of the tower's size, from an image with four times that edge. */
const idefics3: Conventions = {
  specials: [
    image,
    { content: '<|endoftext|>', usual: 0 },
    { content: '<|im_start|>', keys: ['bos_token_id'], usual: 1 },
    { content: '<|im_end|>', keys: ['pad_token_id'], usual: 2 },
    { content: endOfUtterance },
  ],
  endOfTurn: endOfUtterance,
  pad: '<|im_end|>',
  image: '<image>',
  images: (config) => {
    const edge = Number(section(config, 'vision_config').image_size ?? 364);
    return {
      image_processor_type: 'Idefics3ImageProcessor',
      ...HALVES,
      do_image_splitting: true,
      max_image_size: { longest_edge: edge },
      resample: LANCZOS,
      size: { longest_edge: 4 * edge },
    };
  },
};

const idefics2: Conventions = {
  specials: [image, ...llamaText, { content: endOfUtterance, usual: 32002 }],
  endOfTurn: endOfUtterance,
  pad: '<unk>',
  image: '<image>',
  images: (config) => ({
    image_processor_type: 'Idefics2ImageProcessor',
    ...HALVES,
    do_image_splitting: false,
    resample: BILINEAR,
    size: { longest_edge: section(config, 'vision_config').image_size ?? 980, shortest_edge: 378 },
  }),
};

const internVl: Conventions = {
  specials: [...qwenText, { content: '<IMG_CONTEXT>', keys: ['image_token_id'], usual: 151667 }],
  endOfTurn: '<|im_end|>',
  pad: '<|endoftext|>',
  image: '<IMG_CONTEXT>\n',
  images: (config) => {
    const given = section(config, 'vision_config').image_size ?? 448;
    const edge: unknown = Array.isArray(given) ? given[0] : given;
    return {
      image_processor_type: 'GotOcr2ImageProcessor',
      ...IMAGENET,
      max_patches: 12,
      min_patches: 1,
      resample: BICUBIC,
      size: { height: edge, width: edge },
    };
  },
};

/** By `model_type`; image sizes of the published models. */
const conventions: Readonly<Record<string, Conventions>> = {
  qwen2_vl: qwen2,
  qwen2_5_vl: qwen2,
  qwen3_vl: qwen3,
  qwen3_vl_moe: qwen3,
  qwen3_5: qwen35,
  qwen3_5_moe: qwen35,
  llava,
  llava_onevision: oneVision,
  idefics2,
  idefics3,
  smolvlm: idefics3,
  internvl: internVl,
};

/** @throws ModelError `unsupported` for a family without known conventions. */
export function conventionsOf({ shape, name }: Family): Conventions {
  const found = conventions[shape.modelType];
  if (found !== undefined) return found;
  throw new ModelError(
    'unsupported',
    `no tokenizer, chat template and image processor are known for ${name} (${shape.modelType}); ` +
      'expected a folder that holds them',
  );
}
