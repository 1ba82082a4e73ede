import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readYaml } from '@ui-rl/plugin-kit';
import { loadRunFile, type RunFileOptions } from './index';

const deploy = resolve(__dirname, '../../../deploy');
const examples = readdirSync(join(deploy, 'config')).filter((name) => name.endsWith('.yaml'));

describe('the example run files', () => {
  it.each([
    ...examples.map((name) => join('config', name)),
    ...['kubernetes/run/run.yaml', 'gcp/gbox/run.yaml'],
  ])('%s is valid and names every option by its path', async (name) => {
    const { run, notes } = await loadRunFile({ file: join(deploy, name) });
    expect(run.tasks.length).toBeGreaterThan(0);
    expect(notes).toEqual([]);
  });
});

const UI_RL = `
model:
  name: "Qwen/Qwen2-VL-2B-Instruct"
  use_lora: true
  action_format: "json"
environment:
  ui_env_urls: ["http://ui-verifier-vm-1:8000", "http://ui-verifier-vm-2:8000"]
actor:
  session_type: "simple_data_entry"
  task_prompt: "Complete the data entry form"
  max_steps_per_episode: 50
training:
  batch_size: 32
  num_iterations: 1000
`;

/** The options of the recipe, each with a value of its documentation. */
const RECIPE = `
model_name: Qwen/Qwen3-VL-30B-A3B-Instruct
lora_rank: 32
renderer_name: qwen3_vl
load_checkpoint_path: uirl://run/sampler_weights/000080
box_type: android
max_turns: 20
tasks: { source_type: demo_training, category: settings, difficulty: easy, limit: 10, seed: 42 }
eval_tasks: { source_type: demo_eval }
seed: 0
group_size: 4
groups_per_batch: 10
learning_rate: 1.0e-5
max_tokens: 2048
temperature: 1.0
kl_penalty_coef: 0.0
num_substeps: 1
max_steps_off_policy: 2
log_path: /tmp/tinker-examples/cua_rl
wandb_project: cua
wandb_name: first
eval_every: 10
save_every: 10
num_groups_to_log: 1
compute_post_kl: false
behavior_if_log_dir_exists: ask
`;

const read = (text: string, ...flags: string[]) =>
  loadRunFile({ options: readYaml(text) as RunFileOptions, flags });

describe('the examples of related projects start through the aliases', () => {
  it('a configuration of UI-RL', async () => {
    const { run, notes } = await read(UI_RL);
    expect(run.environment.kind).toMatchObject({ name: 'ui-verifiers', session_type: 'simple_data_entry' });
    expect(run.rollout.max_turns).toBe(50);
    expect(run.training).toMatchObject({ batch_size: 32, groups_per_batch: 8, max_steps: 1000 });
    expect(run.tasks).toMatchObject([{ source_type: 'custom' }]);
    expect(notes).toHaveLength(1);
  });

  it.each([
    ['lora_config: { r: 16, lora_alpha: 32 }', { model: { lora: { rank: 16, alpha: 32 } } }],
    [
      'reward_threshold: 0.0',
      { algorithm: { advantage: { name: 'rejection_sampling' }, loss: { name: 'cross_entropy' } } },
    ],
    ['num_actors: 4', { rollout: { num_actors: 4 } }],
    ['env_urls: ["http://vm1:8000"]', { environment: { kind: { ui_env_urls: ['http://vm1:8000'] } } }],
  ])('arguments of its classes: %s', async (line, expected) => {
    const text = `model_name: Qwen/Qwen2-VL-2B-Instruct\nuse_lora: true\ntasks: demo_training\n${line}\n`;
    expect((await read(text)).run).toMatchObject(expected);
  });

  it('every option of the recipe', async () => {
    const { run, notes } = await read(RECIPE);
    expect(run).toMatchObject({
      model: { lora: { rank: 32 }, load_checkpoint: 'uirl://run/sampler_weights/000080' },
      environment: { kind: { name: 'gbox', box_type: 'android' } },
      rollout: { max_turns: 20, group_size: 4, max_tokens: 2048, temperature: 1 },
      training: { groups_per_batch: 10, learning_rate: 1e-5, eval_every: 10, save_every: 10, epochs: 1 },
      async: { max_steps_off_policy: 2 },
      logging: { trackers: [{ name: 'jsonl' }, { wandb_project: 'cua', wandb_name: 'first' }] },
    });
    expect(notes).toEqual([expect.stringMatching(/^read model_name as model\.name, .*compute_post_kl/)]);
  });

  it.each([
    '{ source_type: demo_training }',
    '{ source_type: ids, task_ids: [train_01_open_settings, train_02_enable_wifi] }',
    '{ source_type: custom, custom_tasks: [Open the Settings app, Enable WiFi, Set brightness to maximum] }',
    '[{ source_type: demo_training, category: settings, limit: 20 }, { source_type: demo_training, category: navigation, limit: 10 }]',
  ])('tasks: %s', async (tasks) => {
    const { run } = await read(
      `tasks: ${tasks}`,
      '--model_name',
      'Qwen/Qwen3-VL-30B-A3B-Instruct',
      '--group_size',
      '4',
    );
    expect(run.tasks).toMatchObject([readYaml(tasks)].flat() as object[]);
    expect(run.rollout.group_size).toBe(4);
  });
});
