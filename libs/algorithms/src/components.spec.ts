import { components } from './components';

describe('the algorithms that come with the project', () => {
  it('have unique names within their kind', () => {
    const names = components.map(({ kind, name }) => `${kind} ${name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  it('describe themselves, and their options have the defaults they are documented with', () => {
    for (const { description } of components) expect(description).toMatch(/^[A-Z].*\.$/);
    const defaults = components.flatMap(({ name, options }) =>
      typeof options === 'function' ? [[name, { ...new options() }]] : [],
    );
    expect(Object.fromEntries(defaults)).toEqual({
      ppo: { clip_low: 0.2, clip_high: 0.2 },
      dpo: { beta: 0.1, nll_coef: 0 },
      cispo: { ratio_low: 0, ratio_high: 4 },
      gspo: { clip_low: 3e-4, clip_high: 4e-4 },
      dro: { beta: 0.05 },
      dppo: { divergence: 'tv' },
      distillation: { coef: 1, discount: 0, rewards: false },
      reinforce_plus_plus: { kl_in_reward: 0.01, gamma: 1, group_baseline: false },
      gigpo: { step_weight: 1, gamma: 0.95, divide_by_std: true },
      value: { value_clip: 0.2 },
      gae: { gamma: 0.99, gae_lambda: 0.95 },
      rejection_sampling: {
        reward_threshold: 0,
        best_of_group: false,
        weight_by_success_rate: false,
        buffer_size: 0,
        buffer_episodes: 8,
      },
      kl: { coef: 0.01, estimator: 'k3' },
      entropy: { coef: 0.001 },
      tis: { importance_ratio_of: 'token', importance_ratio_cap: 2 },
      mis: { importance_ratio_of: 'token', importance_ratio_low: 0.5, importance_ratio_high: 2 },
      adamw: { beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weight_decay: 0 },
      sgd: { momentum: 0, nesterov: false, weight_decay: 0 },
      muon: {
        beta1: 0.9,
        beta2: 0.95,
        epsilon: 1e-8,
        weight_decay: 0,
        momentum: 0.95,
        nesterov: true,
        adamw_weights: 'embed_tokens|lm_head|value_head',
        adamw_rate: 1,
      },
      constant: { warmup_steps: 0 },
      linear: { warmup_steps: 0, final_fraction: 0 },
      cosine: { warmup_steps: 0, final_fraction: 0 },
    });
  });
});
