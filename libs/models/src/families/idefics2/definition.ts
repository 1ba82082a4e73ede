import { nativeSizeProcessor } from '../../image/native-size';
import { BILINEAR } from '../../image/resample';
import { HALVES, endOfUtterance, imageToken, llamaText, visionOf } from '../common/conventions';
import type { Conventions, FamilyDefinition } from '../definition';
import { published } from './published';
import { idefics2 } from '.';

const conventions: Conventions = {
  specials: [imageToken, ...llamaText, { content: endOfUtterance, usual: 32002 }],
  endOfTurn: endOfUtterance,
  pad: '<unk>',
  image: '<image>',
  images: (config) => ({
    image_processor_type: 'Idefics2ImageProcessor',
    ...HALVES,
    do_image_splitting: false,
    resample: BILINEAR,
    size: { longest_edge: visionOf(config).image_size ?? 980, shortest_edge: 378 },
  }),
};

export const idefics2Definition: FamilyDefinition = {
  modelTypes: { idefics2 },
  imageProcessors: [nativeSizeProcessor],
  conventions,
  published,
};
