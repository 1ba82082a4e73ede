import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile, SettingsError, type RunFile, type RunFileSource } from './index';

const MINIMAL = [
  '--model.name',
  'small',
  '--tasks',
  '{"source_type":"demo_training"}',
  '--training.max_steps',
  '5',
];

let folder: string;
let registry: ComponentRegistry;
beforeAll(async () => {
  registry = await loadComponents();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function read(source: RunFileSource): RunFile {
  return readRunFile(source, registry);
}

function file(text: string): string {
  const path = join(folder, 'run.yaml');
  writeFileSync(path, text);
  return path;
}

describe('a run file that is wrong', () => {
  it.each<[string, string, RegExp]>([
    [
      'training: {learning_rat: 1}',
      'unknown',
      /unknown option "training.learning_rat". Did you mean training.learning_rate/,
    ],
    ['trainng: {seed: 1}', 'unknown', /unknown option "trainng.seed". Did you mean training.seed/],
    ['rollout: {learning_rate: 1}', 'unknown', /Did you mean training.learning_rate or /],
    [
      'training: {kl_penalty_coef: 0.1}',
      'unknown',
      /unknown option "training.kl_penalty_coef". Did you mean algorithm.kl_penalty_coef\?/,
    ],
    ['training: {compute_post_kl: true}', 'unknown', /Did you mean algorithm.compute_post_kl\?/],
    ['tinker_api_key: x', 'unsupported', /no run file has keys: set TINKER_API_KEY .* and TINKER_BASE_URL/],
    ['training: 3', 'type', /training is a group of options such as learning_rate, found 3/],
    ['training: {seed: one}', 'type', /training.seed is "one", expected a whole number of at least 0/],
    ['training: {seed: 1.5}', 'type', /training.seed is 1.5/],
    ['training: {learning_rate: -1}', 'type', /expected a number above 0/],
    ['engine: {name: local, dtype: fp8}', 'type', /engine.dtype is "fp8", expected one of auto, fp32, bf16/],
    ['engine: {dtype: fp8}', 'type', /run.yaml: engine.dtype is "fp8"/],
    ['model: {dtype: fp16}', 'unknown', /unknown option "model.dtype". Did you mean engine.dtype/],
    [
      'actor: {temperature: 1}',
      'unknown',
      /unknown option "actor.temperature". Did you mean rollout.temperature/,
    ],
    [
      'model: {use_lora: false}\nengine: {quantization: int4}',
      'conflict',
      /quantization int4 .*model.use_lora true/,
    ],
    ['model: {use_lora: "yes"}', 'type', /model.use_lora is "yes", expected true or false/],
    ['model: {lora: {dropout: 1}}', 'type', /dropout is 1, expected a number of at least 0 and below 1/],
    [
      'model: {lora: {targets: atention}}',
      'type',
      /targets is "atention", expected all-linear, attention, mlp, experts, router, .* or a list of layer names/,
    ],
    ['model: {lora: {targets: ".*(q_proj"}}', 'type', /targets is "\.\*\(q_proj"/],
    ['model: {use_lora: false, lora: {use_rslora: true}}', 'conflict', /use_rslora would have no effect/],
    ['rollout: {top_p: 1.1}', 'type', /rollout.top_p is 1.1/],
    ['rollout: {top_k: 1000}', 'type', /rollout.top_k is 1000/],
    ['tasks: {category: settings}', 'type', /tasks is .*expected .* an object with source_type/],
    ['tasks: 3', 'type', /tasks is 3/],
    [
      'tasks: demo_trainning',
      'unknown',
      /tasks: no task-source is named "demo_trainning" .*Did you mean demo_training/,
    ],
    [
      'tasks: [{source_type: ids}]',
      'missing',
      /tasks\[0\].task_ids is missing, expected a list that is not empty/,
    ],
    [
      'tasks: {source_type: demo_training, limit: 0}',
      'type',
      /tasks.limit is 0, expected a whole number of at least 1/,
    ],
    [
      'tasks: {source_type: demo_training, task_ids: [a]}',
      'unknown',
      /unknown option "tasks.task_ids" of task-source demo_training. It is one of .*\bids/,
    ],
    ['plugins: [1]', 'type', /plugins is \[1\], expected a list, each entry a text/],
    [
      'algorithm: {clip_high: 0.28}',
      'unknown',
      /unknown option "algorithm.clip_high". Did you mean algorithm.loss.clip_high/,
    ],
    [
      'algorithm: {loss: ppoo}',
      'unknown',
      /algorithm.loss: no policy-loss is named "ppoo" .*Did you mean ppo/,
    ],
    [
      'algorithm: {advantage: dr_grpo, loss: cross_entropy}',
      'conflict',
      /algorithm.loss is cross_entropy, but algorithm.advantage dr_grpo goes with importance_sampling or ppo/,
    ],
    [
      'algorithm: {advantage: rejection_sampling, loss: ppo}',
      'conflict',
      /algorithm.loss is ppo, but algorithm.advantage rejection_sampling goes with cross_entropy/,
    ],
    [
      'algorithm: {loss: {name: importance_sampling, clip_low: 0.1}}',
      'unknown',
      /unknown option "algorithm.loss.clip_low" of policy-loss importance_sampling. It is one of ppo/,
    ],
    [
      'algorithm: {loss: {name: ppo, clip_low: 2}}',
      'type',
      /algorithm.loss.clip_low is 2, expected a number above 0 and at most 1/,
    ],
    [
      'algorithm: {advantage: rejection_sampling, kl_penalty_coef: 0.1}',
      'conflict',
      /kl_penalty_coef changes advantages, which algorithm.loss cross_entropy does not read: add a regularizer/,
    ],
    [
      'algorithm: {overlong_buffer: 9}\nrollout: {max_tokens: 8}',
      'conflict',
      /algorithm.overlong_buffer is 9, but an answer has at most rollout.max_tokens \(8\)/,
    ],
    [
      'algorithm: {overlong_penalty: 2}',
      'conflict',
      /overlong_penalty would have no effect: it needs algorithm.overlong_buffer above 0/,
    ],
    [
      'algorithm: {advantage: rejection_sampling, replayed_successes: 2}',
      'conflict',
      /replayed_successes is 2, but algorithm.advantage rejection_sampling does not compare the episodes of a group/,
    ],
    [
      'algorithm: {advantage: reinforce_plus_plus, replayed_successes: 2}',
      'conflict',
      /algorithm.advantage reinforce_plus_plus does not compare the episodes of a group: choose one that does/,
    ],
    [
      'algorithm: {loss: dpo, replayed_successes: 2}',
      'conflict',
      /replayed_successes is 2, but algorithm.loss dpo pairs the episodes of a group/,
    ],
    [
      'algorithm: {regularizers: [kl, {name: kl, coef: 2}]}',
      'conflict',
      /algorithm.regularizers names kl twice/,
    ],
    [
      'algorithm: {regularizers: [{name: kl, estimator: k4}]}',
      'type',
      /algorithm.regularizers\[0\].estimator is "k4", expected one of k1, k2, k3/,
    ],
    [
      'algorithm: {loss: dppo, correction: tis}',
      'conflict',
      /algorithm.loss: dppo compares with the policy that sampled, so that algorithm.correction would count twice/,
    ],
    [
      'learning_rate: 1e-3\ntraining: {learning_rate: 1e-4}',
      'conflict',
      /run.yaml: training.learning_rate is given twice, once as learning_rate/,
    ],
    [
      'algorithm: {constant_tokens: 3}',
      'conflict',
      /constant_tokens would have no effect: it needs algorithm.loss_aggregation constant/,
    ],
    [
      'algorithm: {dynamic_sampling_limit: 3}',
      'conflict',
      /dynamic_sampling_limit would have no effect: it needs algorithm.dynamic_sampling true/,
    ],
    [
      'rewards: [{name: composite, of: [shaped, {name: composite, of: [progress, progress]}]}]',
      'conflict',
      /^rewards\[0\].of\[1\]: reward composite: "of" names progress twice/,
    ],
    [
      'rewards: [task-sucess]',
      'unknown',
      /rewards\[0\]: no reward is named "task-sucess" .*Did you mean task-success/,
    ],
    ['environment: {kind: browsr}', 'unknown', /environment.kind: no environment is named "browsr"/],
    ['environment: {options: {headless: true}}', 'unknown', /unknown option "environment.options.headless"/],
    [
      'environment: {kind: {headless: true}}',
      'unknown',
      /"environment.kind.headless" of environment browser/,
    ],
    ['algorithm: ppo', 'type', /algorithm is a group of options such as advantage, found "ppo"/],
    [
      'rollout: {group_size: 80}\nasync: {max_steps_off_policy: 12}',
      'conflict',
      /^up to 10400 episodes would wait for their batch, at most 10000 can: lower training.groups_per_batch/,
    ],
    ['training: {batch_size: 40000}', 'conflict', /at most 10000 can: lower training.batch_size, rollout/],
    [
      'rollout: {constrain_actions: true, played_by: agents}',
      'conflict',
      /constrain_actions is true, but outside agents/,
    ],
    [
      'reward_threshold: 0.5\nalgorithm: {advantage: grpo}',
      'unknown',
      /"algorithm.advantage.reward_threshold" of advantage grpo/,
    ],
    ['algorithm: {loss_aggregation: constant}', 'conflict', /needs algorithm.constant_tokens/],
    [
      'model: {use_lora: false, lora: {rank: 4}}',
      'conflict',
      /model.lora.rank would have no effect: it needs model.use_lora/,
    ],
    ['rollout: {group_size: 1}', 'conflict', /compares the episodes of a group/],
    [
      'algorithm: {advantage: gae, loss: dpo}\nrollout: {group_size: 1}',
      'conflict',
      /rollout.group_size is 1, but algorithm.loss dpo compares the episodes of a group in pairs: at least 2/,
    ],
    ['training: {max_steps: 0}', 'conflict', /the training has no end/],
    ['training: {batch_size: 0}', 'type', /^\S+: training.batch_size is 0, expected/],
    [
      'training: {schedule: cosine, max_steps: 0, total_minutes: 5}',
      'conflict',
      /training.schedule: schedule cosine reaches its end at training.max_steps, which is 0/,
    ],
    [
      'training: {num_substeps: 11}',
      'conflict',
      /num_substeps is 11, and training\.groups_per_batch only 10/,
    ],
    [
      'async: {max_steps_off_policy: 1}\ntraining: {deterministic: true}',
      'conflict',
      /needs async.max_steps_off_policy 0/,
    ],
    [
      'async: {in_flight_updates: true}',
      'conflict',
      /async.in_flight_updates needs async.max_steps_off_policy of at least 1/,
    ],
    [
      'async: {straggler_factor: 2}',
      'conflict',
      /async.straggler_factor would have no effect: it needs async.max_steps_off_policy of at least 1/,
    ],
    [
      'async: {straggler_factor: 4, max_steps_off_policy: 0}',
      'conflict',
      /async.straggler_factor would have no effect/,
    ],
    [
      'rollout: {played_by: agents}\nmodel: {history_turns: 2}',
      'conflict',
      /model.history_turns would have no effect: outside agents \(rollout.played_by\) say themselves/,
    ],
    [
      'rollout: {played_by: agents, history_screenshots: 2}',
      'conflict',
      /rollout.history_screenshots would have no effect: outside agents \(rollout.played_by\) say themselves/,
    ],
    [
      'rollout: {history_screenshots: 2}\nmodel: {history_turns: 2}',
      'conflict',
      /rollout.history_screenshots is 2 and would have no effect: model.history_turns 2 keeps no more turns/,
    ],
    ['rollout: {history_screenshots: 0}', 'type', /rollout.history_screenshots is 0, expected/],
    [
      'algorithm: {advantage: gae, dynamic_sampling: true}',
      'conflict',
      /algorithm.dynamic_sampling is true, but algorithm.advantage gae learns from every group/,
    ],
    [
      'algorithm: {advantage: reinforce_plus_plus, dynamic_sampling: true}',
      'conflict',
      /algorithm.dynamic_sampling is true, but algorithm.advantage reinforce_plus_plus learns from every group/,
    ],
    [
      'algorithm: {advantage: gae}\ncritic: {warmup_steps: 5}',
      'conflict',
      /critic.warmup_steps is 5, but the run ends after training.max_steps \(5\): the policy would never be trained/,
    ],
    [
      'algorithm: {advantage: distillation}',
      'conflict',
      /algorithm.advantage distillation learns from a teacher: name one with teacher.name or teacher.load_checkpoint/,
    ],
    [
      'teacher: {name: small}',
      'conflict',
      /teacher.name would have no effect: algorithm.advantage dr_grpo has no teacher/,
    ],
    [
      'async: {straggler_factor: 0.5}',
      'type',
      /async.straggler_factor is 0.5, expected 0, or a number of at least 1/,
    ],
    ['a: [', 'file', /is not YAML/],
    ['- 1', 'type', /must hold options by group/],
  ])('refuses %j', (text, category, message) => {
    const flags = MINIMAL.filter((_, index) => !(text.startsWith('tasks') && (index === 2 || index === 3)));
    const steps = text.includes('max_steps: 0') ? flags.slice(0, -2) : flags;
    const reading = () => read({ file: file(text), flags: steps });
    expect(reading).toThrow(SettingsError);
    expect(reading).toThrow(message);
    expect(reading).toThrow(expect.objectContaining({ category }));
  });

  it('names every problem at once, and where it was read', () => {
    const path = file('training: {seed: x, sed: 1}\nengine: {device: tpu}');
    expect(() => read({ file: path, flags: ['--rollout.group_size', 'four'] })).toThrow(
      /run.yaml: engine.device is "tpu"[^]*model.name is missing[^]*--rollout.group_size: rollout.group_size is "four"[^]*run.yaml: unknown option "training.sed"[^]*training.seed is "x"/,
    );
  });

  it.each([
    [['--learning_rte', '1'], /unknown option --learning_rte. Did you mean --training.learning_rate or /],
    [['--wandb_project', 'a/b'], /--wandb_project: logging.trackers\[1\].wandb_project is "a\/b", expected/],
    [['--training.seed'], /--training.seed needs a value: a whole number/],
    [['--training.seed', '1', '--training.seed', '2'], /training.seed is given twice/],
    [['seed=1'], /expected an option such as --training.seed 1, found "seed=1"/],
    [['--xyzzy', '1'], /unknown option --xyzzy. See --help/],
    [
      ['--rewards.early_finish', '0.3'],
      /unknown option --rewards.early_finish: rewards is a list.* --rewards '\[{"name":"…","early_finish":0.3}\]'/,
    ],
    [
      ['--eval_tasks.start', 'near'],
      /eval_tasks is a list.* --eval_tasks '\[{"source_type":"…","start":"near"}\]'/,
    ],
  ])('refuses the flags %j', (flags, message) => {
    expect(() => read({ flags: [...MINIMAL, ...flags] })).toThrow(message);
  });

  it('says when there is no such file', () => {
    expect(() => read({ file: '/no/such.yaml' })).toThrow('there is no run file "/no/such.yaml"');
  });
});
