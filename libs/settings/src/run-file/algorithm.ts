import { IsBoolean, IsIn, IsInt, IsNumber, IsOptional, Min } from 'class-validator';
import { Above, Choice, Doc, Needs, type ComponentChoice } from '@ui-rl/plugin-kit';

export class AlgorithmGroup {
  @Doc('how rewards become what is trained')
  @Choice('advantage')
  advantage: ComponentChoice = { name: 'dr_grpo' };

  @Doc('policy loss; default: the one that goes with the advantage')
  @Choice('policy-loss')
  @IsOptional()
  loss: ComponentChoice;

  @Doc('terms besides the loss, which do not look at rewards')
  @Choice('regularizer', { many: true })
  regularizers: ComponentChoice[] = [];

  @Doc(
    'takes off the advantage of each token how much further than the mean of the batch it has drifted from the base model; 0 = nothing',
  )
  @IsNumber()
  @Min(0)
  kl_penalty_coef = 0;

  @Doc('measures how far each step moved the policy, in two more passes over its batch')
  @IsBoolean()
  compute_post_kl = false;

  @Doc('weights of tokens that another policy sampled')
  @Choice('correction')
  correction: ComponentChoice = { name: 'none' };

  @Doc(
    'what the summed token losses are divided by: token-mean by the tokens of the batch; sequence-mean by those of each sequence, and then by the number of sequences; constant by constant_tokens. A sequence is what was sampled in a turn; for losses over whole episodes, or pairs of them, it is what was sampled in an episode',
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
    'tokens before rollout.max_tokens in which an answer loses reward, in a line up to overlong_penalty; 0 = long answers lose nothing',
  )
  @IsInt()
  @Min(0)
  overlong_buffer = 0;

  @Doc('what an answer of rollout.max_tokens loses where overlong_buffer is above 0; default: 1')
  @IsOptional()
  @Above(0)
  overlong_penalty?: number;

  @Doc('replace groups that teach nothing: for most advantages those whose rewards are all equal')
  @IsBoolean()
  dynamic_sampling = false;

  @Doc('groups replaced per batch at most')
  @IsInt()
  @Min(1)
  @Needs('dynamic_sampling', true)
  dynamic_sampling_limit = 10;
}
