/** Groups of a run file, or changes to them. */
export type Groups = Readonly<Record<string, object>>;

/** The configuration of a row. */
export interface Algorithm {
  /** Changes to the run file of the task. */
  changes: Groups;
  /** Learns only from stored episodes of the untrained policy. */
  offline?: true;
}

/**
 * Four optimizer steps per batch: from the second on, the policy differs from the one that sampled, so clipping of a
 * loss matters.
 */
const FOUR_STEPS = { num_substeps: 4 };
/** For losses without clipping: at 1e-3 the fourth step goes so far that no episode succeeds afterwards. */
const SMALLER_STEPS = { ...FOUR_STEPS, learning_rate: 5e-4 };
/** The staleness bound at which off-policy corrections matter; late data are learned in more, smaller steps. */
const ASYNC = {
  async: { max_steps_off_policy: 4 },
  training: { learning_rate: 5e-4, max_steps: 40 },
};

function advantage(name: string, options: object = {}): Algorithm {
  return { changes: { algorithm: { advantage: { name, ...options } } } };
}

/** Dr. GRPO's advantages with another loss. */
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

/** All algorithms, by the names of their rows. Unlisted options have their defaults. */
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
 * One of each family: normalized by the group's mean and deviation, leave-one-out within the group, by the whole
 * batch token by token, with a critic, and without baseline, by imitating successful episodes.
 */
export const MAIN_ALGORITHMS: readonly string[] = [
  'grpo',
  'rloo',
  'reinforce++',
  'gae, critic',
  'rejection sampling',
];
