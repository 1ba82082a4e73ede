import { BILINEAR } from '../../image/resample';
import { HALVES, visionOf } from '../common/conventions';
import type { Conventions, FamilyDefinition } from '../definition';
import { gemma3Processor } from './images';
import { published } from './published';
import { gemma3 } from '.';

const conventions: Conventions = {
  // Ids as in public copies of google/gemma-3-4b-it; those of pad, eos, bos and images are defaults of transformers.
  specials: [
    { content: '<pad>', keys: ['pad_token_id'], usual: 0 },
    { content: '<eos>', usual: 1 },
    { content: '<bos>', keys: ['bos_token_id'], usual: 2 },
    { content: '<unk>', usual: 3 },
    { content: '<start_of_turn>', usual: 105 },
    { content: '<end_of_turn>', usual: 106 },
    { content: '<start_of_image>', keys: ['boi_token_index'], usual: 255_999 },
    { content: '<end_of_image>', keys: ['eoi_token_index'], usual: 256_000 },
    { content: '<image_soft_token>', keys: ['image_token_index', 'image_token_id'], usual: 262_144 },
  ],
  endOfTurn: '<end_of_turn>',
  pad: '<pad>',
  image: '<start_of_image>',
  images: (config) => {
    const edge = visionOf(config).image_size ?? 224;
    return {
      image_processor_type: 'Gemma3ImageProcessor',
      ...HALVES,
      resample: BILINEAR,
      size: { height: edge, width: edge },
    };
  },
};

export const gemma3Definition: FamilyDefinition = {
  modelTypes: { gemma3 },
  imageProcessors: [gemma3Processor],
  conventions,
  published,
};
