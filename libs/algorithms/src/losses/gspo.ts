import { Max } from 'class-validator';
import { Above, Doc, type PolicyLossComponent } from '@ui-rl/plugin-kit';
import { clippedLoss, isClipped } from './clipped';

export class GspoOptions {
  @Doc('the ratio of a sequence is clipped below at 1 - clip_low')
  @Above(0)
  @Max(1)
  clip_low = 3e-4;

  @Doc('the ratio of a sequence is clipped above at 1 + clip_high')
  @Above(0)
  clip_high = 4e-4;
}

/**
 * Like `ppo`, with one ratio per sequence: exp(mean over its tokens of log π_θ − log π_old), Zheng et al. 2025,
 * "Group Sequence Policy Optimization", eq. 5 to 7. The data define sequences (for the learner, an episode); a
 * sequence's advantage is the mean over its tokens.
 */
export const gspo: PolicyLossComponent<GspoOptions> = {
  kind: 'policy-loss',
  name: 'gspo',
  description: 'As ppo, with one ratio for all tokens of an episode: the geometric mean of theirs.',
  options: GspoOptions,
  inputs: ['advantages', 'old_logprobs'],
  scope: 'sequence',
  skipsZeroAdvantages: true,
  create: (options) => ({
    build({ ops, logprobs, inputs, sequences }) {
      const ratio = ops.exp(sequences.mean(ops.sub(logprobs, inputs.old_logprobs)));
      const surrogate = { ops, ratio, advantages: sequences.mean(inputs.advantages) };
      return {
        loss: clippedLoss(options, surrogate),
        metrics: { clip_fraction: isClipped(options, surrogate) },
      };
    },
  }),
};
