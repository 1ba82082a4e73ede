import { qwenVlProcessor } from '../../image/qwen-vl';
import { qwen3Conventions } from '../common/qwen-conventions';
import type { FamilyDefinition } from '../definition';
import { published } from './published';
import { qwen3VlMoe } from '.';

export const qwen3VlMoeDefinition: FamilyDefinition = {
  modelTypes: { qwen3_vl_moe: qwen3VlMoe },
  imageProcessors: [qwenVlProcessor],
  conventions: qwen3Conventions,
  published,
};
