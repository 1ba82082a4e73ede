import type { ComponentKind } from '@ui-rl/plugin-kit';
import type { Template } from '../template';
import { actionDialect } from './action-dialect';
import { advantage } from './advantage';
import { correction } from './correction';
import { environment } from './environment';
import { optimizer } from './optimizer';
import { policyLoss } from './policy-loss';
import { regularizer } from './regularizer';
import { reward } from './reward';
import { sampler } from './sampler';
import { schedule } from './schedule';
import { taskSource } from './task-source';
import { tracker } from './tracker';
import { verifier } from './verifier';

/** The template of each kind; a string says why there is none. */
export const TEMPLATES: Readonly<Record<ComponentKind, Template | string>> = {
  'task-source': taskSource,
  verifier,
  reward,
  environment,
  'action-dialect': actionDialect,
  advantage,
  'policy-loss': policyLoss,
  regularizer,
  correction,
  optimizer,
  schedule,
  engine:
    'an engine loads a model, samples from it, differentiates losses and changes its weights: no few lines of that would train anything. ' +
    'Its contract is libs/plugin-kit/src/kinds/engine.ts, a whole one libs/engine; where only sampling is to happen elsewhere, begin with a sampler',
  sampler,
  tracker,
};
