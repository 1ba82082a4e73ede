import { qwenVlProcessor } from '../../image/qwen-vl';
import { qwen3Conventions } from '../common/qwen-conventions';
import type { FamilyDefinition } from '../definition';
import { published } from './published';
import { qwen3Vl } from '.';

export const qwen3VlDefinition: FamilyDefinition = {
  modelTypes: { qwen3_vl: qwen3Vl },
  imageProcessors: [qwenVlProcessor],
  conventions: qwen3Conventions,
  published,
};
