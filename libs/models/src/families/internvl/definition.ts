import { BICUBIC } from '../../image/resample';
import { qwenText, visionOf } from '../common/conventions';
import type { Conventions, FamilyDefinition } from '../definition';
import { gotOcr2Processor } from './images';
import { published } from './published';
import { internVl } from '.';

const IMAGENET = { image_mean: [0.485, 0.456, 0.406], image_std: [0.229, 0.224, 0.225] };

const conventions: Conventions = {
  specials: [
    ...qwenText,
    { content: '<img>', usual: 151665 },
    { content: '</img>', usual: 151666 },
    { content: '<IMG_CONTEXT>', keys: ['image_token_id'], usual: 151667 },
  ],
  endOfTurn: '<|im_end|>',
  pad: '<|endoftext|>',
  image: '<IMG_CONTEXT>\n',
  images: (config) => {
    const given = visionOf(config).image_size ?? 448;
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

export const internVlDefinition: FamilyDefinition = {
  modelTypes: { internvl: internVl },
  imageProcessors: [gotOcr2Processor],
  conventions,
  published,
};
