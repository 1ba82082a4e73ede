import {
  boolean,
  choice,
  integer,
  list,
  loraTargets,
  map,
  number,
  taskSources,
  text,
  type OptionType,
} from './option-types';

/** One option of the run file. */
export interface RunOption {
  /** `training.learning_rate`. */
  path: string;
  type: OptionType;
  /** Value where the user gives none; undefined = stays absent. */
  default?: unknown;
  /** The user must give it. */
  required?: boolean;
  /** Flags besides `--<path>`. */
  aliases?: string[];
  description: string;
}

const count = integer({ atLeast: 0 });
const positive = integer({ atLeast: 1 });
const milliseconds = integer({ atLeast: 1 });

function option(
  path: string,
  type: OptionType,
  fallback: unknown,
  description: string,
  ...aliases: string[]
): RunOption {
  return { path, type, default: fallback, description, aliases };
}

const MODEL: RunOption[] = [
  {
    path: 'model.name',
    type: text,
    required: true,
    description:
      'Hugging Face folder of the model (config.json, safetensors, tokenizer, …), or its name on the hub: organisation/name[@revision]',
    aliases: ['model', 'model_name'],
  },
  option('model.use_lora', boolean, true, 'train a LoRA adapter; false trains all weights'),
  option(
    'model.dtype',
    choice(['auto', 'fp32', 'bf16', 'fp16']),
    'auto',
    'type frozen weights are held in; auto leaves large models as they are stored; computed is fp32',
  ),
  option(
    'model.quantization',
    choice(['none', 'int8', 'int4']),
    'none',
    'frozen linear layers in 8 or 4 bits, under an adapter (QLoRA)',
    'quantization',
  ),
  option(
    'model.device',
    choice(['auto', 'cpu', 'webgpu', 'cuda']),
    'auto',
    'where the model runs; auto takes a GPU where one can be used, and the log says which',
    'device',
  ),
  option('model.lora.rank', positive, 32, 'rank of the adapter', 'lora_rank'),
  option('model.lora.alpha', number({ above: 0 }), 64, 'the adapter is scaled by alpha / rank', 'lora_alpha'),
  option('model.lora.use_rslora', boolean, false, 'the adapter is scaled by alpha / √rank instead'),
  option('model.lora.targets', loraTargets, 'all-linear', 'linear layers that get an adapter'),
  option(
    'model.lora.dropout',
    number({ atLeast: 0, below: 1 }),
    0,
    'share of what an adapter reads that is dropped in training; the trained policy is then not quite the sampled one',
  ),
  option('model.lora.vision', boolean, false, 'adapters in the vision tower too'),
  option(
    'model.action_format',
    choice(['json']),
    'json',
    'how the policy writes its actions',
    'action_format',
  ),
  option(
    'model.prompt',
    choice(['full', 'compact']),
    'full',
    'full explains the actions; compact gives only the goal, for models trained on it',
  ),
  option('model.history_turns', positive, 1, 'turns the policy reads, the present one included'),
  option(
    'model.max_sequence',
    integer({ atLeast: 16 }),
    4096,
    'longest sequence in tokens, prompt and answer together',
  ),
  option('model.threads', count, 0, 'threads of the device; 0 takes one per core'),
];

const ENVIRONMENT: RunOption[] = [
  option('environment.kind', text, 'browser', 'environment plugin of tasks that name none'),
  option('environment.max_sessions', positive, 16, 'sessions an env service keeps open at once'),
  option(
    'environment.deadline_ms',
    milliseconds,
    15_000,
    'longest time for one action, or for opening, in milliseconds',
  ),
  option(
    'environment.lease_ms',
    milliseconds,
    60_000,
    'a session ends by itself when nothing is asked of it for so long',
  ),
  option('environment.options', map, {}, 'options of the environment plugin'),
];

const TASKS: RunOption[] = [
  {
    path: 'tasks',
    type: taskSources,
    required: true,
    description: 'task source or list of them: {source_type, …}',
  },
  option('eval_tasks', taskSources, [], 'task source or list of them, for evaluation only'),
  option('rewards', list(), ['task-success'], 'reward plugins; their parts are summed'),
];

const ROLLOUT: RunOption[] = [
  option(
    'rollout.group_size',
    positive,
    4,
    'episodes of one task and start, compared with one another',
    'group_size',
  ),
  option(
    'rollout.temperature',
    number({ above: 0 }),
    1,
    'sampling temperature of training episodes',
    'temperature',
  ),
  option(
    'rollout.top_p',
    number({ atLeast: 1, atMost: 1 }),
    1,
    'only 1: what a cut left out would have no probability to train',
  ),
  option('rollout.max_tokens', positive, 2048, 'tokens of one answer', 'max_tokens'),
  option('rollout.max_turns', positive, 20, 'turns of an episode, unless the task allows fewer', 'max_turns'),
  option('rollout.concurrency', positive, 8, 'episodes an actor plays at once', 'concurrency'),
  option('rollout.episode_timeout_ms', milliseconds, 600_000, 'longest time for an episode, in milliseconds'),
  option(
    'rollout.turn_timeout_ms',
    milliseconds,
    120_000,
    'longest time for a turn, policy and environment, in milliseconds',
  ),
  option('rollout.max_attempts', positive, 3, 'tries at an episode that fails by no fault of the policy'),
];

const ALGORITHM: RunOption[] = [
  option(
    'algorithm.name',
    choice(['grpo', 'dr_grpo', 'rejection_sampling']),
    'dr_grpo',
    'how rewards become what is trained',
    'algorithm',
  ),
  option(
    'algorithm.loss',
    choice(['importance_sampling', 'ppo', 'cross_entropy']),
    undefined,
    'policy loss; default importance_sampling, for rejection_sampling cross_entropy',
    'loss',
  ),
  option(
    'algorithm.clip_low',
    number({ above: 0, atMost: 1 }),
    undefined,
    'ppo: the ratio is clipped below at 1 - clip_low (default 0.2)',
  ),
  option(
    'algorithm.clip_high',
    number({ above: 0 }),
    undefined,
    'ppo: the ratio is clipped above at 1 + clip_high (default 0.2)',
  ),
  option(
    'algorithm.dual_clip',
    number({ above: 1 }),
    undefined,
    'ppo: bounds the loss where the advantage is negative',
  ),
  option(
    'algorithm.loss_aggregation',
    choice(['token-mean', 'sequence-mean', 'constant']),
    'token-mean',
    'what the summed token losses are divided by',
  ),
  option(
    'algorithm.constant_tokens',
    positive,
    undefined,
    'the divisor of loss_aggregation constant, in tokens',
  ),
  option(
    'algorithm.reward_threshold',
    number(),
    0,
    'rejection_sampling: episodes whose return exceeds it are kept',
    'reward_threshold',
  ),
  option(
    'algorithm.best_of_group',
    boolean,
    false,
    'rejection_sampling: of those only the best of each group',
  ),
  option('algorithm.dynamic_sampling', boolean, false, 'replace groups whose rewards are all equal'),
  option('algorithm.dynamic_sampling_limit', positive, 10, 'groups replaced per batch at most'),
];

const TRAINING: RunOption[] = [
  option(
    'training.learning_rate',
    number({ above: 0 }),
    1e-5,
    'learning rate after warm-up',
    'learning_rate',
  ),
  option(
    'training.lr_schedule',
    choice(['constant', 'linear', 'cosine']),
    'constant',
    'course of the learning rate over max_steps',
    'lr_schedule',
  ),
  option('training.warmup_steps', count, 0, 'steps over which the learning rate rises'),
  option('training.weight_decay', number({ atLeast: 0 }), 0, 'AdamW weight decay'),
  option(
    'training.max_grad_norm',
    number({ atLeast: 0 }),
    1,
    'gradients are scaled down to this norm; 0 = never',
  ),
  option('training.groups_per_batch', positive, 10, 'groups of a batch', 'groups_per_batch'),
  option(
    'training.num_substeps',
    positive,
    1,
    'optimizer steps a batch is split into, by groups',
    'num_substeps',
  ),
  option(
    'training.gradient_checkpointing',
    choice(['auto', 'on', 'off']),
    'auto',
    'computes activations again, layer by layer, instead of keeping them; auto where they would fill memory',
    'gradient_checkpointing',
  ),
  option('training.num_minibatches', positive, 1, 'passes a step is split into, gradients accumulated'),
  option('training.max_steps', count, 0, 'the training ends after so many steps; 0 = no limit', 'max_steps'),
  option(
    'training.max_minutes',
    number({ atLeast: 0 }),
    0,
    'the training ends after so many minutes; 0 = no limit',
    'minutes',
    'max_minutes',
  ),
  option(
    'training.save_every',
    count,
    10,
    'keep a checkpoint every so many steps; 0 = only the last',
    'save_every',
  ),
  option(
    'training.eval_every',
    count,
    10,
    'evaluate every so many steps; 0 = only before and after training',
    'eval_every',
  ),
  option('training.seed', count, 0, 'seeds task order, environments, sampling and fresh adapters', 'seed'),
  option(
    'training.deterministic',
    boolean,
    false,
    'the same seed gives the same rewards, step by step',
    'deterministic',
  ),
];

const EVALUATION: RunOption[] = [
  option(
    'evaluation.episodes_per_task',
    positive,
    4,
    'episodes per task and evaluation, each with its own start',
  ),
  option(
    'evaluation.temperature',
    number({ atLeast: 0 }),
    0,
    'sampling temperature of evaluation episodes; 0 = greedy',
  ),
  option(
    'evaluation.baseline',
    boolean,
    true,
    'evaluate the model as loaded before it is trained',
    'baseline',
  ),
  option(
    'evaluation.sets',
    list(choice(['train_goals', 'eval_goals'])),
    ['train_goals', 'eval_goals'],
    'train_goals: training tasks with unseen starts; eval_goals: eval_tasks',
  ),
];

const OTHER: RunOption[] = [
  option(
    'async.max_steps_off_policy',
    count,
    0,
    'steps a sampled group may be behind when it is trained; 0 = strictly on-policy',
    'max_steps_off_policy',
  ),
  option(
    'logging.log_dir',
    text,
    undefined,
    'folder of all runs (default: UIRL_RUNS_DIR, else ./runs)',
    'log_dir',
  ),
  option('logging.run_name', text, 'run', 'first part of the run id', 'run_name', 'name'),
  option('plugins', list(), [], 'further plugins: paths (./…) or npm packages'),
];

/** Every option there is: what a run file may say, its defaults, and the text of `--help`. */
export const RUN_OPTIONS: readonly RunOption[] = [
  ...MODEL,
  ...ENVIRONMENT,
  ...TASKS,
  ...ROLLOUT,
  ...ALGORITHM,
  ...TRAINING,
  ...EVALUATION,
  ...OTHER,
];

/** Options of related projects that people will try, and what to do instead. */
export const UNSUPPORTED: Readonly<Record<string, string>> = {
  kl_penalty_coef: 'a KL penalty is not supported yet',
  compute_post_kl: 'KL after a step is not computed; optim/kl_sample_train_v1 and _v2 are logged each step',
  renderer_name: 'the renderer follows from the model folder',
  box_type: 'boxes are not supported yet; environment.kind names an environment plugin',
  gbox_api_key: 'GBox is not supported yet',
  tinker_api_key: "training runs on this project's own engine, no key is needed",
  base_url: "training runs on this project's own engine; NATS_URL names the broker",
  wandb_project: 'Weights & Biases is not supported yet; metrics are in the monitor and in metrics.jsonl',
  wandb_name: 'Weights & Biases is not supported yet; logging.run_name names the run',
  behavior_if_log_dir_exists: 'every run has a folder of its own; an interrupted run is resumed',
  log_path: 'use logging.log_dir and logging.run_name',
  batch_size: 'use training.groups_per_batch and rollout.group_size',
  num_iterations: 'use training.max_steps',
  max_steps_per_episode: 'use rollout.max_turns',
  task_prompt: 'use tasks: {source_type: custom, custom_tasks: [...]}',
  session_type: 'tasks name their environment',
  ui_env_urls: 'env services are found over NATS',
  num_actors: 'start as many actor services as needed; rollout.concurrency is per actor',
  num_groups_to_log: 'the monitor shows every episode',
  load_checkpoint_path: 'starting from an adapter of another run is not supported yet',
};
