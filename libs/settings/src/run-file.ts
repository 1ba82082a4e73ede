/** The run file as the services see it: every option has its value. Keys as users write them. */
export interface RunFile {
  model: {
    /** Hugging Face folder of the model, absolute. */
    name: string;
    use_lora: boolean;
    /** Type frozen weights are held in. */
    dtype: 'auto' | 'fp32' | 'bf16' | 'fp16';
    /** Frozen linear layers in few bits. */
    quantization: 'none' | 'int8' | 'int4';
    device: 'auto' | 'cpu' | 'webgpu' | 'cuda';
    lora: {
      rank: number;
      alpha: number;
      /** The adapter is scaled by alpha / √rank, not by alpha / rank. */
      use_rslora: boolean;
      /** Groups of layers, a regular expression, or names of layers. */
      targets: string | string[];
      dropout: number;
      vision: boolean;
    };
    action_format: 'json';
    /** How the goal is put to the model. */
    prompt: 'compact' | 'full';
    /** Turns the policy reads, the present one included. */
    history_turns: number;
    /** Longest sequence in tokens, prompt and answer. */
    max_sequence: number;
    /** Threads of the device; 0 = one per core. */
    threads: number;
  };
  environment: {
    /** Environment plugin for tasks that name none. */
    kind: string;
    max_sessions: number;
    /** Per action and per opening. */
    deadline_ms: number;
    /** A session nobody asks anything of ends after so long. */
    lease_ms: number;
    /** Options of the environment plugin. */
    options: Record<string, unknown>;
  };
  tasks: RunTaskSource[];
  eval_tasks: RunTaskSource[];
  /** Names of reward plugins; their parts are summed. */
  rewards: string[];
  rollout: {
    group_size: number;
    temperature: number;
    top_p: number;
    max_tokens: number;
    max_turns: number;
    /** Episodes an actor plays at once. */
    concurrency: number;
    episode_timeout_ms: number;
    turn_timeout_ms: number;
    /** Tries at an episode that fails by no fault of the policy. */
    max_attempts: number;
  };
  algorithm: {
    name: 'grpo' | 'dr_grpo' | 'rejection_sampling';
    loss: 'importance_sampling' | 'ppo' | 'cross_entropy';
    clip_low?: number;
    clip_high?: number;
    dual_clip?: number;
    loss_aggregation: 'token-mean' | 'sequence-mean' | 'constant';
    /** Divisor of `loss_aggregation: constant`. */
    constant_tokens?: number;
    reward_threshold: number;
    best_of_group: boolean;
    dynamic_sampling: boolean;
    dynamic_sampling_limit: number;
  };
  training: {
    learning_rate: number;
    lr_schedule: 'constant' | 'linear' | 'cosine';
    warmup_steps: number;
    weight_decay: number;
    max_grad_norm: number;
    groups_per_batch: number;
    num_substeps: number;
    /** Whether activations are computed again in the backward pass instead of kept. */
    gradient_checkpointing: 'auto' | 'on' | 'off';
    num_minibatches: number;
    /** 0 = no limit. */
    max_steps: number;
    /** 0 = no limit. */
    max_minutes: number;
    save_every: number;
    /** 0 = only before and after training. */
    eval_every: number;
    seed: number;
    deterministic: boolean;
  };
  evaluation: {
    episodes_per_task: number;
    temperature: number;
    baseline: boolean;
    sets: ('train_goals' | 'eval_goals')[];
  };
  async: { max_steps_off_policy: number };
  logging: { log_dir: string; run_name: string };
  plugins: string[];
}

/** One entry of `tasks` or `eval_tasks`; what stands beside `source_type` is for the task source. */
export interface RunTaskSource {
  source_type: string;
  [option: string]: unknown;
}
