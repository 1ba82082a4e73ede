import { llavaOneVisionProcessor } from '../../image/llava-onevision';
import { BICUBIC } from '../../image/resample';
import { HALVES, imageToken, qwenText, visionOf } from '../common/conventions';
import type { Conventions, FamilyDefinition } from '../definition';
import { published } from './published';
import { llavaOneVision } from '.';

const conventions: Conventions = {
  specials: [imageToken, { content: '<video>', keys: ['video_token_index', 'video_token_id'] }, ...qwenText],
  endOfTurn: '<|im_end|>',
  pad: '<|endoftext|>',
  image: '<image>\n',
  images: (config) => {
    const edge = visionOf(config).image_size ?? 384;
    return {
      image_processor_type: 'LlavaOnevisionImageProcessor',
      ...HALVES,
      image_grid_pinpoints: config.image_grid_pinpoints,
      resample: BICUBIC,
      size: { height: edge, width: edge },
    };
  },
};

export const llavaOneVisionDefinition: FamilyDefinition = {
  modelTypes: { llava_onevision: llavaOneVision },
  imageProcessors: [llavaOneVisionProcessor],
  conventions,
  published,
};
