import { clipProcessor, siglipProcessor } from '../../image/clip';
import { BICUBIC } from '../../image/resample';
import { CLIP, imageToken, llamaText, visionOf } from '../common/conventions';
import type { Conventions, FamilyDefinition } from '../definition';
import { published } from './published';
import { llava } from '.';

const conventions: Conventions = {
  specials: [imageToken, { content: '<pad>', keys: ['pad_token_id'], usual: 32001 }, ...llamaText],
  endOfTurn: '</s>',
  pad: '<pad>',
  image: '<image>\n',
  images: (config) => {
    const edge = visionOf(config).image_size ?? 336;
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

export const llavaDefinition: FamilyDefinition = {
  modelTypes: { llava },
  imageProcessors: [clipProcessor, siglipProcessor],
  conventions,
  published,
};
