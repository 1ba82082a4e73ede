import type { Component } from '@ui-rl/plugin-kit';
import { drGrpo } from './advantages/dr-grpo';
import { grpo } from './advantages/grpo';
import { rejectionSampling } from './advantages/rejection-sampling';
import { none } from './corrections/none';
import { tis } from './corrections/tis';
import { crossEntropy } from './losses/cross-entropy';
import { dpo } from './losses/dpo';
import { importanceSampling } from './losses/importance-sampling';
import { ppo } from './losses/ppo';
import { adamw } from './optimizers/adamw';
import { constant } from './schedules/constant';
import { cosine } from './schedules/cosine';
import { linear } from './schedules/linear';

/** The algorithms that come with the project. */
export const components: readonly Component[] = [
  importanceSampling,
  ppo,
  crossEntropy,
  dpo,
  grpo,
  drGrpo,
  rejectionSampling,
  none,
  tis,
  adamw,
  constant,
  linear,
  cosine,
];
