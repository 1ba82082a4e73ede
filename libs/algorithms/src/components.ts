import type { Component } from '@ui-rl/plugin-kit';
import { distillation } from './advantages/distillation';
import { drGrpo } from './advantages/dr-grpo';
import { gigpo } from './advantages/gigpo';
import { gae } from './advantages/gae';
import { grpo } from './advantages/grpo';
import { reinforcePlusPlus } from './advantages/reinforce-plus-plus';
import { rejectionSampling } from './advantages/rejection-sampling';
import { rloo } from './advantages/rloo';
import { mis } from './corrections/mis';
import { none } from './corrections/none';
import { tis } from './corrections/tis';
import { cispo } from './losses/cispo';
import { crossEntropy } from './losses/cross-entropy';
import { dpo } from './losses/dpo';
import { dppo } from './losses/dppo';
import { dro } from './losses/dro';
import { gspo } from './losses/gspo';
import { importanceSampling } from './losses/importance-sampling';
import { ppo } from './losses/ppo';
import { value } from './losses/value';
import { adamw } from './optimizers/adamw';
import { muon } from './optimizers/muon';
import { sgd } from './optimizers/sgd';
import { entropy } from './regularizers/entropy';
import { kl } from './regularizers/kl';
import { constant } from './schedules/constant';
import { cosine } from './schedules/cosine';
import { linear } from './schedules/linear';

/** The built-in algorithms. */
export const components: readonly Component[] = [
  importanceSampling,
  ppo,
  cispo,
  gspo,
  dro,
  dppo,
  crossEntropy,
  dpo,
  value,
  grpo,
  drGrpo,
  gae,
  rloo,
  reinforcePlusPlus,
  gigpo,
  rejectionSampling,
  distillation,
  kl,
  entropy,
  none,
  tis,
  mis,
  adamw,
  sgd,
  muon,
  constant,
  linear,
  cosine,
];
