/** Groups of a run file, or changes to them. */
export type Groups = Readonly<Record<string, object>>;

/** What a row tries. */
export interface Algorithm {
  /** Changes to the run file of the task. */
  changes: Groups;
  /** Learns from stored episodes of the untrained policy alone. */
  offline?: true;
}

/** A batch trained in four optimizer steps: from the second on, the policy is not the one that sampled, so what a loss clips matters. */
const FOUR_STEPS = { num_substeps: 4 };
/** Of losses that clip nothing: at 1e-3 the fourth step goes so far that no episode succeeds any more. */
const SMALLER_STEPS = { ...FOUR_STEPS, learning_rate: 5e-4 };
/** The bound at which corrections have something to correct; what is learnt late is learnt in more, smaller steps. */
const ASYNC = {
  async: { max_steps_off_policy: 4 },
  training: { learning_rate: 5e-4, max_steps: 40 },
};

function advantage(name: string, options: object = {}): Algorithm {
  return { changes: { algorithm: { advantage: { name, ...options } } } };
}

/** Dr. GRPO's advantages under another loss. */
function loss(name: string, options: object = {}): Algorithm {
  return {
    changes: {
      algorithm: { advantage: 'dr_grpo', loss: { name, ...options } },
      training: SMALLER_STEPS,
    },
  };
}

function correction(name: string): Algorithm {
  return {
    changes: {
      algorithm: { advantage: 'dr_grpo', loss: 'importance_sampling', correction: { name } },
      ...ASYNC,
    },
  };
}

function optimizer(name: string, learningRate: number, options: object = {}): Algorithm {
  return {
    changes: {
      algorithm: { advantage: 'dr_grpo' },
      training: { optimizer: { name, ...options }, learning_rate: learningRate },
    },
  };
}

function regularizer(name: string, options: object = {}): Algorithm {
  return { changes: { algorithm: { advantage: 'dr_grpo', regularizers: [{ name, ...options }] } } };
}

function warmStart(name: string, options: object, ofLoss: object = {}): Algorithm {
  const changes = { training: { warm_start: { loss: { name, ...ofLoss }, ...options } } };
  return { changes, offline: true };
}

/** All there are, by the names of their rows. Options that are not named have their defaults. */
export const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  grpo: advantage('grpo'),
  dr_grpo: advantage('dr_grpo'),
  rloo: advantage('rloo'),
  'reinforce++': advantage('reinforce_plus_plus'),
  'reinforce++ group baseline': advantage('reinforce_plus_plus', { group_baseline: true }),
  gigpo: advantage('gigpo'),
  'gae, critic': {
    changes: {
      algorithm: { advantage: { name: 'gae', gamma: 1, gae_lambda: 0.95 }, loss: 'ppo' },
      training: FOUR_STEPS,
      critic: { learning_rate: 1e-3, warmup_steps: 2 },
    },
  },
  'rejection sampling': advantage('rejection_sampling'),
  'rejection sampling, best of group': advantage('rejection_sampling', { best_of_group: true }),
  'rejection sampling, buffer': advantage('rejection_sampling', { buffer_size: 256, buffer_episodes: 16 }),
  'rejection sampling, weights': advantage('rejection_sampling', { weight_by_success_rate: true }),
  'dynamic sampling': {
    changes: {
      algorithm: { advantage: 'dr_grpo', dynamic_sampling: true, dynamic_sampling_limit: 12 },
    },
  },
  importance_sampling: loss('importance_sampling'),
  ppo: loss('ppo'),
  'ppo, clip higher, dual clip': loss('ppo', { clip_high: 0.28, dual_clip: 3 }),
  cispo: loss('cispo'),
  gspo: loss('gspo'),
  dro: loss('dro'),
  dppo: loss('dppo'),
  'kl to the base': regularizer('kl'),
  entropy: regularizer('entropy'),
  'asynchronous, none': correction('none'),
  'asynchronous, tis': correction('tis'),
  'asynchronous, mis': correction('mis'),
  sgd: optimizer('sgd', 0.3, { momentum: 0.9 }),
  muon: optimizer('muon', 3e-3),
  'warm start, cross_entropy': warmStart('cross_entropy', { learning_rate: 1e-3, epochs: 8 }),
  'warm start, dpo': warmStart('dpo', { learning_rate: 1e-3, epochs: 8 }),
  'warm start, dpo, nll': warmStart('dpo', { learning_rate: 1e-3, epochs: 8 }, { nll_coef: 1 }),
};

/**
 * One of each family: compared with the group and its spread, with the others of the group, with the whole batch token by token, with a
 * critic, and with nothing, by imitating what succeeded.
 */
export const MAIN_ALGORITHMS: readonly string[] = [
  'grpo',
  'rloo',
  'reinforce++',
  'gae, critic',
  'rejection sampling',
];
