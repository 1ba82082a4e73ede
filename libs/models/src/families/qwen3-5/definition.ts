import { qwenVlProcessor } from '../../image/qwen-vl';
import { qwen35Conventions } from '../common/qwen-conventions';
import type { FamilyDefinition } from '../definition';
import { published } from './published';
import { qwen35 } from '.';

export const qwen35Definition: FamilyDefinition = {
  modelTypes: { qwen3_5: qwen35 },
  imageProcessors: [qwenVlProcessor],
  conventions: qwen35Conventions,
  published,
};
