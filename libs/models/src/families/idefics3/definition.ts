import { tiledProcessor } from '../../image/tiled';
import { LANCZOS } from '../../image/resample';
import { HALVES, endOfUtterance, imageToken, visionOf } from '../common/conventions';
import type { Conventions, FamilyDefinition } from '../definition';
import { published } from './published';
import { idefics3, smolVlm } from '.';

/** Idefics3 and SmolVLM: tiles of the tower's size, from an image with four times that edge. */
const conventions: Conventions = {
  specials: [
    imageToken,
    { content: '<|endoftext|>', usual: 0 },
    { content: '<|im_start|>', keys: ['bos_token_id'], usual: 1 },
    { content: '<|im_end|>', keys: ['pad_token_id'], usual: 2 },
    { content: endOfUtterance },
  ],
  endOfTurn: endOfUtterance,
  pad: '<|im_end|>',
  image: '<image>',
  images: (config) => {
    const edge = Number(visionOf(config).image_size ?? 364);
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

export const idefics3Definition: FamilyDefinition = {
  modelTypes: { idefics3, smolvlm: smolVlm },
  imageProcessors: [tiledProcessor],
  conventions,
  published,
};
