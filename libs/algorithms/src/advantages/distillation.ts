import { IsBoolean, Max, Min } from 'class-validator';
import { Above, Doc, type AdvantageComponent, type EpisodeExperience } from '@ui-rl/plugin-kit';
import { rewardsOf } from './per-episode';
import { discountedReturns } from './returns';
import { mean } from './statistics';

export class DistillationOptions {
  @Doc('coefficient of the log-ratio of teacher and policy')
  @Above(0)
  coef = 1;

  @Doc('discount per token with which a token also gets the log-ratios after it; 0 = its own only')
  @Min(0)
  @Max(1)
  discount = 0;

  @Doc('also learn from rewards: add the return minus the mean of its group')
  @IsBoolean()
  rewards = false;
}

/**
 * On-policy distillation (Agarwal et al. 2023, arXiv:2306.13649, with reverse KL; Thinking Machines 2025): the policy
 * samples, and each token t gets A_t = coef · Σ_k discount^k (log π_teacher − log π_sample)_{t+k}, the sum over the rest
 * of its turn. Its expectation over the policy's samples is −coef · KL(π ‖ π_teacher) at discount 0.
 */
export const distillation: AdvantageComponent<DistillationOptions> = {
  kind: 'advantage',
  name: 'distillation',
  description:
    "How much more probable the teacher finds each token than the policy that sampled it: learns from the run's `teacher`, with or without rewards.",
  options: DistillationOptions,
  inputs: ['teacher_logprobs'],
  minGroupSize: 1,
  // The teacher judges each token, so a group with equal rewards teaches, too.
  learnsFromEveryGroup: true,
  create: ({ coef, discount, rewards }) => ({
    estimate: (groups) => {
      const ratios = groups.map(({ episodes }) => episodes.map(logRatios));
      const advantages = groups.map((group, g) => {
        const returns = rewards ? rewardsOf(group) : [];
        const center = rewards ? mean(returns) : 0;
        return ratios[g].map((turns, e) => {
          const gain = rewards ? returns[e] - center : 0;
          return turns.map((tokens) =>
            Float32Array.from(discountedReturns(tokens, discount), (sum) => coef * sum + gain),
          );
        });
      });
      const all = ratios.flat(3);
      return { advantages, metrics: { teacher_kl: all.length === 0 ? 0 : -mean(all) } };
    },
  }),
};

/** [turn][token]: log π_teacher − log π_sample. */
function logRatios({ turns }: EpisodeExperience): number[][] {
  return turns.map(({ logprobs, inputs }) =>
    Array.from(logprobs, (logprob, token) => inputs.teacher_logprobs![token] - logprob),
  );
}
