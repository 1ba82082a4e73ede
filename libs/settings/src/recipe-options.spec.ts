import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import {
  ALIASES,
  loadRunFile,
  parseRunFile,
  readRunFile,
  SettingsError,
  type RunFile,
  type RunFileOptions,
} from './index';
import { OptionIndex } from './option-index';

/** Options in the spelling of Python projects that train such agents. */
describe('options of other recipes', () => {
  const MINIMAL = { model_name: 'small', tasks: 'demo_training', num_iterations: 5 };
  let registry: ComponentRegistry;
  beforeAll(async () => {
    registry = await loadComponents();
  });

  const readAll = (options: object, ...flags: string[]): RunFile =>
    readRunFile({ options, flags, workingDir: '/home/me' }, registry);
  const read = (options: object, ...flags: string[]): RunFile =>
    readAll({ ...MINIMAL, ...options }, ...flags);
  const refusal = (options: object): string => {
    try {
      read(options);
    } catch (error) {
      if (error instanceof SettingsError) return error.message;
    }
    throw new Error('nothing was refused');
  };

  it('batch_size counts episodes, and stands for so many groups', () => {
    const run = read({ training: { batch_size: 32 }, rollout: { group_size: 8 } });
    expect(run.training).toMatchObject({ batch_size: 32, groups_per_batch: 4 });
    expect(parseRunFile(structuredClone(run), registry)).toEqual(run);
    expect(read({ batch_size: 32 }).training.groups_per_batch).toBe(8);
    expect(read({}, '--batch_size', '12').training.groups_per_batch).toBe(3);
    expect(read({ batch_size: 32, groups_per_batch: 8 }).training.groups_per_batch).toBe(8);
    expect(refusal({ batch_size: 30 })).toBe(
      'training.batch_size is 30 episodes, which is not a multiple of rollout.group_size 4',
    );
    expect(refusal({ batch_size: 32, groups_per_batch: 10 })).toBe(
      'training.batch_size is 32 episodes, but training.groups_per_batch 10 times rollout.group_size 4 are 40: leave one of them out',
    );
    expect(refusal({ batch_size: 'many' })).toMatch(
      /training\.batch_size is "many", expected a whole number/,
    );
  });

  it('num_iterations is max_steps', () => {
    const options = { model_name: 'small', tasks: 'demo_training' };
    expect(readAll({ ...options, training: { num_iterations: 7 } }).training.max_steps).toBe(7);
    expect(readAll({ ...options, num_iterations: 8 }).training.max_steps).toBe(8);
    expect(refusal({ training: { max_steps: 1 } })).toMatch(/training\.max_steps is given twice/);
  });

  it.each([
    ['in its group', { model: { lora_config: { r: 16, lora_alpha: 32 } } }],
    ['at the top', { lora_config: { r: 16, lora_alpha: 32 } }],
  ])('lora_config has the names of PEFT, %s', (_where, options) => {
    const run = read(options);
    expect(run.model.lora).toMatchObject({ rank: 16, alpha: 32 });
    expect(run.model).not.toHaveProperty('lora_config');
  });

  it('refuses other names of lora_config', () => {
    expect(refusal({ lora_config: { r: 16, bias: 'all' } })).toMatch(/unknown option "lora_config.bias"/);
  });

  it('each alias stands for an option, and a run says once which', async () => {
    const index = new OptionIndex(registry);
    for (const target of Object.values(ALIASES)) {
      if (typeof target === 'string') expect(index.named(target)).toHaveLength(1);
      else
        expect(
          registry.optionsClass(index.at(target.choice)!.info.choice!.kind, target.component),
        ).toBeDefined();
    }
    const options = { ...MINIMAL, box_type: 'linux', wandb_name: 'first' } as RunFileOptions;
    const { notes } = await loadRunFile({ options, flags: ['--lora_rank', '8'] });
    expect(notes).toEqual([
      'read model_name as model.name, box_type as environment.kind gbox with box_type, num_iterations as training.max_steps, ' +
        'wandb_name as logging.trackers wandb with wandb_name, lora_rank as model.lora.rank',
    ]);
    const canonical = { model: { name: 'small' }, tasks: 'demo_training', training: { max_steps: 5 } };
    expect((await loadRunFile({ options: canonical })).notes).toEqual([]);
  });

  it('a stored run file has no aliases', () => {
    expect(() => parseRunFile(MINIMAL, registry)).toThrow(/unknown option "model_name". Did you mean/);
  });

  describe('the group actor of UI-RL', () => {
    const ACTOR = {
      session_type: 'shop',
      task_prompt: 'Complete the data entry form',
      max_steps_per_episode: 50,
      num_actors: 4,
    };
    const FORM = { source_type: 'custom', custom_tasks: [{ description: ACTOR.task_prompt }] };
    /** As in its documentation. */
    const WHOLE = {
      model: { name: 'Qwen/Qwen2-VL-2B-Instruct', use_lora: true, action_format: 'json' },
      environment: { ui_env_urls: ['http://ui-verifier-vm-1:8000', 'http://ui-verifier-vm-2:8000'] },
      actor: ACTOR,
      training: { batch_size: 32, num_iterations: 1000 },
    };
    const readWhole = (changes: object = {}, ...flags: string[]): RunFile =>
      readAll({ ...WHOLE, ...changes }, ...flags);

    it('is understood in a whole run file', () => {
      const run = readWhole();
      expect(run.environment.kind).toMatchObject({
        ...{ name: 'ui-verifiers', session_type: 'shop' },
        ui_env_urls: WHOLE.environment.ui_env_urls,
      });
      expect(run.tasks).toMatchObject([FORM]);
      expect(run.rollout).toMatchObject({ max_turns: 50, num_actors: 4 });
      expect(run.training).toMatchObject({ groups_per_batch: 8, max_steps: 1000 });
      expect(parseRunFile(structuredClone(run), registry)).toEqual(run);
    });

    it('is understood at the top, and by flags, which win', () => {
      const { actor: _actor, ...rest } = WHOLE;
      const top = readAll({ ...rest, ...ACTOR });
      expect(top).toEqual(readWhole());
      const flags = ['--task_prompt', 'Buy tea', '--max_steps_per_episode=7', '--session_type', 'tea'];
      const run = readWhole({}, ...flags);
      expect(run.tasks).toMatchObject([{ custom_tasks: [{ description: 'Buy tea' }] }]);
      expect(run.rollout.max_turns).toBe(7);
      expect(run.environment.kind.session_type).toBe('tea');
      expect(readWhole({}, '--tasks', 'demo_eval').tasks).toMatchObject([{ source_type: 'demo_eval' }]);
    });

    it('a goal that a task source knows is in its words, unless it is to be played elsewhere', () => {
      const { tasks: _tasks, ...rest } = MINIMAL;
      const tasks = (options: object) =>
        readAll({ ...rest, task_prompt: 'please enable the wifi', ...options }).tasks;
      const words = [{ custom_tasks: ['please enable the wifi'] }];
      expect(tasks({})).toMatchObject(words);
      expect(tasks({ environment: { kind: 'browser' } })).toMatchObject(words);
      expect(tasks({ environment: { kind: 'ui-verifiers' } })).toMatchObject([
        { custom_tasks: [{ description: 'please enable the wifi' }] },
      ]);
    });

    it.each([
      [{ tasks: 'demo_training' }, /tasks is given twice, once as actor\.task_prompt/],
      [{ task_prompt: 'Buy tea' }, /tasks is given twice, at last by .*actor\.task_prompt/],
      [{ actor: { task_prompt: 7 } }, /task_prompt is 7, expected a text: the goal in words/],
      [{ actor: { ...ACTOR, num_actors: 0 } }, /actor\.num_actors.* 0, expected|num_actors/],
      [
        { actor: { ...ACTOR, temperature: 1 } },
        /unknown option "actor\.temperature"\. Did you mean rollout\.temperature/,
      ],
      [{ actor: { ...ACTOR, colour: 1 } }, /unknown option "actor\.colour"/],
      [
        { rollout: { max_turns: 3 } },
        /rollout\.max_turns is given twice, once as actor\.max_steps_per_episode/,
      ],
      [
        { environment: { kind: 'browser' } },
        /actor\.session_type\): unknown option "environment\.kind\.session_type" of environment browser\. It is one of ui-verifiers/,
      ],
      [{ actor: { ...ACTOR, session_type: 'a b' } }, /session_type is "a b"/],
    ])('%j is refused', (changes, message) => {
      expect(() => readWhole(changes)).toThrow(message);
    });
  });

  it('log_path is a path from where it is written, and belongs to no stored run file', () => {
    const folder = mkdtempSync(join(tmpdir(), 'uirl-settings-'));
    try {
      const file = join(folder, 'run.yaml');
      writeFileSync(
        file,
        'model: {name: small}\ntasks: demo_training\ntraining: {max_steps: 1}\nlog_path: logs/first\n',
      );
      const run = readRunFile({ file }, registry);
      expect(run.logging.log_path).toBe(join(folder, 'logs/first'));
      expect(() => parseRunFile(structuredClone(run), registry)).toThrow(
        /logging\.log_path is .*logs\/first, a path on another machine, expected logging\.log_dir/,
      );
      expect(read({}, '--log_path', 'here').logging.log_path).toBe('/home/me/here');
    } finally {
      rmSync(folder, { recursive: true });
    }
    expect(refusal({ log_path: '/a/b', log_dir: 'c' })).toMatch(
      /logging\.log_path and logging\.log_dir both name/,
    );
    expect(refusal({ log_path: '/a/..' })).toMatch(/logging\.log_path is "\/a\/\.\."/);
  });
});
