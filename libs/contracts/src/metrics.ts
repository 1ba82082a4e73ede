/** A metric of a `train_step` event. */
export interface MetricInfo {
  /** `<…>` is a placeholder for a name: `env/all/reward/<part>`. */
  name: string;
  unit: string;
  meaning: string;
}

const metric = (name: string, unit: string, meaning: string): MetricInfo => ({ name, unit, meaning });

/**
 * Every metric of a step, with its meaning. A step trains one batch of groups, in one or more optimizer steps. Names
 * follow Tinker's logs where those have one.
 */
export const METRICS: readonly MetricInfo[] = [
  metric(
    'optim/loss',
    'loss',
    'weighted sum of the token losses; its sign and size depend on loss and aggregation',
  ),
  metric(
    'optim/entropy',
    'nats',
    'mean entropy of the distribution at trained tokens; a fall to 0 means that nothing is tried any more',
  ),
  metric('optim/grad_norm', 'norm', 'norm of all gradients before clipping'),
  metric('optim/lr', '', 'learning rate of the optimizer steps'),
  metric('optim/tokens', 'tokens', 'trained tokens'),
  metric('optim/samples', 'turns', 'turns that went through a pass; turns whose advantage is 0 need none'),
  metric(
    'optim/sequences',
    'sequences',
    'sequences they made: turns of an episode that continue one another token by token are one',
  ),
  metric('optim/micro_batches', 'passes', 'micro-batches of the batch'),
  metric(
    'optim/substeps',
    'steps',
    'optimizer steps of the step: one per part of its batch (training.num_substeps) and pass (training.passes_per_batch)',
  ),
  metric(
    'optim/kl_sample_train_v1',
    'nats',
    'mean of log p(sampler) − log p(trainer) over the tokens of the first optimizer step; near 0 where both compute the same',
  ),
  metric(
    'optim/kl_sample_train_v2',
    'nats',
    'half the mean square of that difference; above 0.01 the run warns (`kl`)',
  ),
  metric('optim/logp_difference_max', 'nats', 'largest difference of one token'),
  metric('optim/ratio_mean', '', 'mean probability ratio of trainer to sampler; 1 on-policy'),
  metric('optim/ratio_max', '', 'largest ratio'),
  metric(
    'optim/clip_fraction',
    'share',
    'tokens, or episodes, whose ratio was clipped (losses `ppo`, `cispo`, `gspo`)',
  ),
  metric('optim/<loss metric>', '', 'metrics of the loss itself'),
  metric(
    'optim/correction_weight_mean',
    '',
    'mean factor of tokens that another policy sampled (algorithm.correction)',
  ),
  metric('optim/correction_masked', 'share', 'tokens that algorithm.correction leaves out'),
  metric(
    'optim/regularizer/<name>',
    'loss',
    'mean term of a regularizer over trained tokens (algorithm.regularizers)',
  ),
  metric('optim/regularizer/<name>/<metric>', '', 'metrics of a regularizer: `kl/divergence` in nats'),
  metric(
    'kl_policy_base',
    'nats',
    'mean of log p(sampler) − log p(base model) over trained tokens (algorithm.kl_penalty_coef)',
  ),
  metric(
    'kl_pre_post_v1',
    'nats',
    'mean of log p(before the step) − log p(after it) over trained tokens (algorithm.compute_post_kl)',
  ),
  metric('kl_pre_post_v2', 'nats', 'half the mean square of that difference'),
  metric(
    'advantage/overlong_penalty',
    'reward',
    'mean length penalty of an episode (algorithm.overlong_buffer)',
  ),
  metric(
    'advantage/replayed',
    'episodes',
    'episodes of earlier batches that were trained again (algorithm.replayed_successes, or the buffer of rejection_sampling)',
  ),
  metric('advantage/<name>', '', 'metrics of the advantage estimator'),
  metric(
    'critic/explained_variance',
    'share',
    'of the variance of returns that the critic explained before the step; 0 for a constant',
  ),
  metric('critic/value_mean', 'reward', 'mean value of the states of the batch, before the step'),
  metric('critic/return_mean', 'reward', 'mean target of the critic'),
  metric('critic/loss', 'loss', 'mean of the token losses of the critic'),
  metric(
    'critic/clip_fraction',
    'share',
    'tokens without a gradient because of value clipping (loss `value`)',
  ),
  metric('critic/grad_norm', 'norm', 'norm of the gradients of the critic before clipping'),
  metric('critic/lr', '', 'learning rate of the critic'),
  metric('critic/tokens', 'tokens', 'tokens whose states the critic was trained on'),
  metric('critic/micro_batches', 'passes', 'passes these were cut into'),
  metric('env/all/reward/total', 'reward', 'mean return of the trained episodes'),
  metric('env/all/reward/<part>', 'reward', 'mean of one part of the reward'),
  metric(
    'env/all/verdict/<name>/success',
    'share',
    'episodes that a judging reward calls a success (`judge`)',
  ),
  metric('env/all/verdict/<name>/count', 'episodes', 'episodes that both it and the verifier judged'),
  metric('env/all/verdict/<name>/agreement', 'share', 'share of these with equal verdicts'),
  metric(
    'env/all/verdict/<name>/false_positives',
    'share',
    'successes of the reward that the verifier denies',
  ),
  metric(
    'env/all/verdict/<name>/false_negatives',
    'share',
    'successes of the verifier that the reward denies',
  ),
  metric('env/all/success', 'share', 'episodes the verifier calls a success, of those it can judge'),
  metric('env/all/episodes', 'episodes', 'trained episodes'),
  metric('env/all/turns_per_episode', 'turns', 'mean'),
  metric('env/all/ac_tokens_per_turn', 'tokens', 'mean length of an answer'),
  metric('env/all/parse_failures', 'share', 'answers without a readable action'),
  metric('env/all/truncated', 'share', 'episodes that used up their turns'),
  metric(
    'env/all/by_group/frac_mixed',
    'share',
    'groups whose episodes differ in reward: those that can be learnt from',
  ),
  metric('env/all/by_group/frac_all_good', 'share', 'groups that all earned the most of the batch'),
  metric('env/all/by_group/frac_all_bad', 'share', 'groups that all earned the least of the batch'),
  metric(
    'env/all/groups_replaced',
    'groups',
    'groups without a signal that were replaced (algorithm.dynamic_sampling)',
  ),
  metric(
    'curriculum/tasks_in_band',
    'tasks',
    'tasks whose measured success is within the band of rollout.curriculum, when the newest group of the batch was asked for',
  ),
  metric('curriculum/tasks_too_hard', 'tasks', 'tasks below it'),
  metric('curriculum/tasks_too_easy', 'tasks', 'tasks above it'),
  metric('curriculum/tasks_unmeasured', 'tasks', 'tasks that were not tried often enough to say'),
  metric('curriculum/tasks_waiting', 'tasks', 'tasks whose prerequisites are not learnt yet'),
  metric(
    'curriculum/frac_explored',
    'share',
    'groups of the batch whose task is outside of the band, or of another difficulty than the one that is trained now',
  ),
  metric(
    'curriculum/level',
    '',
    'difficulty that is trained now: 0 easy, 1 medium, 2 hard (rollout.curriculum.by difficulty)',
  ),
  metric(
    'env/all/invalid_share',
    'share',
    'episodes of the run that failed in the infrastructure; above 5 % the run warns (`invalid_share`)',
  ),
  metric('sampling_client/step_min', 'steps', 'oldest policy version that sampled a token of the batch'),
  metric('sampling_client/step_max', 'steps', 'newest'),
  metric('sampling_client/step_mean', 'steps', 'mean over its tokens'),
  metric(
    'async/steps_off_policy_max',
    'steps',
    'policy lag of the oldest trained token; at most async.max_steps_off_policy',
  ),
  metric('async/steps_off_policy_mean', 'steps', 'mean over trained tokens'),
  metric('async/staleness/<steps>', 'share', 'trained tokens by policy lag: a histogram'),
  metric(
    'async/tokens_masked',
    'tokens',
    'untrained tokens with a policy lag above async.max_steps_off_policy',
  ),
  metric(
    'async/groups_too_old',
    'groups',
    'groups given up since the last step because every token of theirs was beyond that; others were requested in their place',
  ),
  metric(
    'async/stragglers',
    'episodes',
    'slow episodes since the last step in whose place others were requested (async.straggler_factor)',
  ),
  metric('idle_ratio/actors', 'share', 'idle time of episode slots, as their actors measured it'),
  metric('idle_ratio/environments', 'share', 'idle time of open sessions, as their environments measured it'),
  metric('idle_ratio/learner', 'share', 'of time/total, spent waiting for episodes'),
  metric(
    'guard/restored_step',
    'step',
    'whose weights the run went back to, in place of training (training.collapse_guard)',
  ),
  metric('guard/restores', 'times', 'restored checkpoints so far'),
  metric('warm_start/epoch', 'epochs', 'passes over the stored episodes, or pairs, that are done'),
  metric('warm_start/done_frac', 'share', 'of the steps of the warm start'),
  metric('warm_start/episodes', 'episodes', 'stored episodes of the step (training.warm_start)'),
  metric('progress/batch', 'steps', 'steps so far, a batch each'),
  metric('progress/done_frac', 'share', 'of training.max_steps, the warm start aside'),
  metric(
    'time/train',
    's',
    'from when the batch was complete until it is trained: the passes of policy, critic and reference, and optimizer steps',
  ),
  metric(
    'time/waiting_for_episodes',
    's',
    'from when the last step was over until the batch of this one was complete',
  ),
  metric(
    'time/total',
    's',
    'from the end of the last step to the end of this one: waiting, training, and the checkpoint',
  ),
  metric(
    'time/checkpoint',
    's',
    'saving, uploading, serving and announcing the new weights; the next step begins after it',
  ),
  metric(
    'time/upload',
    's',
    'of that, bringing the checkpoint into the object store (logging.upload_checkpoints)',
  ),
  metric('time/policy_per_turn', 's', 'mean time of an answer of the policy'),
  metric('time/env_per_turn', 's', 'mean time of an action with its screenshot'),
  metric(
    'test/<set>/<metric>',
    '',
    'the same of the episodes of an evaluation (`train_goals` or `eval_goals`), at the step it scores: env/all/success, env/all/reward/total …; its groups are the episodes of a task',
  ),
];

/**
 * The description of a metric; undefined for one that is not in the catalogue. A full name takes precedence over a
 * pattern.
 */
export function metricInfo(name: string): MetricInfo | undefined {
  return METRICS.find((each) => each.name === name) ?? METRICS.find((each) => matches(each.name, name));
}

function matches(pattern: string, name: string): boolean {
  const parts = pattern.split(/<[^>]+>/).map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return parts.length > 1 && new RegExp(`^${parts.join('.+')}$`).test(name);
}
