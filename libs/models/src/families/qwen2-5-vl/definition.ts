import { qwenVlProcessor } from '../../image/qwen-vl';
import { qwen2Conventions } from '../common/qwen-conventions';
import type { FamilyDefinition } from '../definition';
import { published } from './published';
import { qwen25Vl } from '.';

export const qwen25VlDefinition: FamilyDefinition = {
  modelTypes: { qwen2_5_vl: qwen25Vl },
  imageProcessors: [qwenVlProcessor],
  conventions: qwen2Conventions,
  published,
};
