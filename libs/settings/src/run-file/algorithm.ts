import { IsBoolean, IsIn, IsInt, IsNumber, IsOptional, Min } from 'class-validator';
import { Above, Choice, Doc, Needs, type ComponentChoice } from '@ui-rl/plugin-kit';

export class AlgorithmGroup {
  @Doc('advantage estimator')
  @Choice('advantage')
  advantage: ComponentChoice = { name: 'dr_grpo' };

  @Doc('policy loss; default: that of the advantage')
  @Choice('policy-loss')
  @IsOptional()
  loss: ComponentChoice;

  @Doc('regularizers, terms of the loss that do not read rewards')
  @Choice('regularizer', { many: true })
  regularizers: ComponentChoice[] = [];

  @Doc(
    'coefficient of a KL penalty in the advantage: the log-ratio of a token to the base model, minus its mean over the batch; 0 = none',
  )
  @IsNumber()
  @Min(0)
  kl_penalty_coef = 0;

  @Doc('measure the KL divergence of each step, in two more passes over its batch')
  @IsBoolean()
  compute_post_kl = false;

  @Doc('correction of tokens that another policy sampled')
  @Choice('correction')
  correction: ComponentChoice = { name: 'none' };

  @Doc(
    'divisor of the summed token losses: token-mean by the tokens of the batch; sequence-mean by those of each sequence, and then by the number of sequences; constant by constant_tokens. A sequence is what was sampled in a turn; for losses over whole episodes, or pairs of them, it is what was sampled in an episode',
  )
  @IsIn(['token-mean', 'sequence-mean', 'constant'])
  loss_aggregation: 'token-mean' | 'sequence-mean' | 'constant' = 'token-mean';

  @Doc('the divisor of loss_aggregation constant, in tokens')
  @IsOptional()
  @IsInt()
  @Min(1)
  @Needs('loss_aggregation', 'constant')
  constant_tokens?: number;

  @Doc(
    'number of tokens before rollout.max_tokens over which the penalty rises linearly to overlong_penalty; 0 = no penalty',
  )
  @IsInt()
  @Min(0)
  overlong_buffer = 0;

  @Doc('penalty of an answer of rollout.max_tokens if overlong_buffer is above 0; default: 1')
  @IsOptional()
  @Above(0)
  overlong_penalty?: number;

  @Doc(
    'number of successes to keep per task. Groups with fewer successes are trained together with kept ones; 0 = none',
  )
  @IsInt()
  @Min(0)
  replayed_successes = 0;

  @Doc('replace groups without a learning signal: for most advantages, those with equal rewards')
  @IsBoolean()
  dynamic_sampling = false;

  @Doc('maximum number of replaced groups per batch')
  @IsInt()
  @Min(1)
  @Needs('dynamic_sampling', true)
  dynamic_sampling_limit = 10;
}
