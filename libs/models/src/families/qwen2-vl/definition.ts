import { qwenVlProcessor } from '../../image/qwen-vl';
import { qwen2Conventions } from '../common/qwen-conventions';
import type { FamilyDefinition } from '../definition';
import { published } from './published';
import { qwen2Vl } from '.';

export const qwen2VlDefinition: FamilyDefinition = {
  modelTypes: { qwen2_vl: qwen2Vl },
  imageProcessors: [qwenVlProcessor],
  conventions: qwen2Conventions,
  published,
};
