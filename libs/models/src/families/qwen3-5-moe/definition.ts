import { qwenVlProcessor } from '../../image/qwen-vl';
import { qwen35Conventions } from '../common/qwen-conventions';
import type { FamilyDefinition } from '../definition';
import { published } from './published';
import { qwen35Moe } from '.';

export const qwen35MoeDefinition: FamilyDefinition = {
  modelTypes: { qwen3_5_moe: qwen35Moe },
  imageProcessors: [qwenVlProcessor],
  conventions: qwen35Conventions,
  published,
};
