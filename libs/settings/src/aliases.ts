/** An option of a component, which the alias also chooses if nothing else is chosen in its place. */
export interface ComponentOption {
  /** Path of the choice: `environment.kind`. */
  choice: string;
  component: string;
  option: string;
}

const uiVerifiers = (option: string): ComponentOption => ({
  choice: 'environment.kind',
  component: 'ui-verifiers',
  option,
});
const wandb = (option: string): ComponentOption => ({
  choice: 'logging.trackers',
  component: 'wandb',
  option,
});

/**
 * Names from the configurations of UI-RL and of Tinker's CUA RL recipe, in a run file and as flags, and the options
 * that they stand for. Every other option has one name: its path. A goal in words stands for a task: `task_prompt`.
 */
export const ALIASES: Readonly<Record<string, string | ComponentOption>> = {
  model_name: 'model.name',
  use_lora: 'model.use_lora',
  lora_rank: 'model.lora.rank',
  'lora_config.r': 'model.lora.rank',
  'lora_config.lora_alpha': 'model.lora.alpha',
  'model.lora_config.r': 'model.lora.rank',
  'model.lora_config.lora_alpha': 'model.lora.alpha',
  action_format: 'model.action_format',
  renderer_name: 'model.renderer_name',
  load_checkpoint_path: 'model.load_checkpoint',
  base_url: { choice: 'engine', component: 'tinker', option: 'base_url' },

  env_urls: uiVerifiers('ui_env_urls'),
  'environment.ui_env_urls': uiVerifiers('ui_env_urls'),
  session_type: uiVerifiers('session_type'),
  'actor.session_type': uiVerifiers('session_type'),
  box_type: { choice: 'environment.kind', component: 'gbox', option: 'box_type' },
  task_prompt: 'tasks',
  'actor.task_prompt': 'tasks',

  max_turns: 'rollout.max_turns',
  max_steps_per_episode: 'rollout.max_turns',
  'actor.max_steps_per_episode': 'rollout.max_turns',
  num_actors: 'rollout.num_actors',
  'actor.num_actors': 'rollout.num_actors',
  group_size: 'rollout.group_size',
  max_tokens: 'rollout.max_tokens',
  temperature: 'rollout.temperature',

  reward_threshold: {
    choice: 'algorithm.advantage',
    component: 'rejection_sampling',
    option: 'reward_threshold',
  },
  kl_penalty_coef: 'algorithm.kl_penalty_coef',
  compute_post_kl: 'algorithm.compute_post_kl',

  seed: 'training.seed',
  batch_size: 'training.batch_size',
  groups_per_batch: 'training.groups_per_batch',
  learning_rate: 'training.learning_rate',
  num_substeps: 'training.num_substeps',
  num_iterations: 'training.max_steps',
  'training.num_iterations': 'training.max_steps',
  eval_every: 'training.eval_every',
  save_every: 'training.save_every',
  max_steps_off_policy: 'async.max_steps_off_policy',

  log_path: 'logging.log_path',
  log_dir: 'logging.log_dir',
  wandb_project: wandb('wandb_project'),
  wandb_name: wandb('wandb_name'),
  num_groups_to_log: 'logging.num_groups_to_log',
  behavior_if_log_dir_exists: 'logging.behavior_if_log_dir_exists',
};

/** The option that an alias stands for, in words. */
export function aliasInWords(alias: string): string {
  const target = ALIASES[alias];
  if (isPrompt(alias)) return `${target as string} with source_type custom`;
  if (typeof target === 'string') return target;
  return `${target.choice} ${target.component} with ${target.option}`;
}

/** Whether the value is a goal in words, not the option itself. */
export function isPrompt(alias: string): boolean {
  return ALIASES[alias] === 'tasks';
}
