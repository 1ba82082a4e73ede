import { join } from 'node:path';
import { checkRun } from './check-run';
import { placeRun } from './log-path';

const GOLDEN = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const REASONING = join(__dirname, '../../../../test/golden/fixtures/qwen3-5-a/model');
const RUN = {
  model: { name: GOLDEN },
  tasks: 'demo_training',
  eval_tasks: 'demo_eval',
  training: { max_steps: 5 },
};
const own = { services: 'own' } as const;

describe('a look at a run file without starting it', () => {
  it('counts its tasks and what is trained', async () => {
    const { tasks, model, run } = await checkRun(RUN, own);
    expect(tasks!.training).toBeGreaterThan(tasks!.evaluation);
    expect(model!.family).toBe('qwen3-vl');
    const smaller = await checkRun(RUN, {
      ...own,
      flags: ['--model.lora.rank', String(run.model.lora.rank / 2)],
    });
    expect(smaller.model!.trainedParameters).toBe(model!.trainedParameters / 2);
    const whole = await checkRun({ ...RUN, model: { name: GOLDEN, use_lora: false } }, own);
    expect(whole.model!.trainedParameters).toBeGreaterThan(model!.trainedParameters);
  });

  it('finds the environments that its tasks name, besides that of the run', async () => {
    const tasks = [{ source_type: 'demo_training' }, { source_type: 'generated_pages', kinds: ['click'] }];
    const check = await checkRun({ ...RUN, tasks }, own);
    expect(check.run.environment.kind.name).toBe('browser');
    expect(check.tasks!.environments).toEqual(['browser', 'generated-pages']);
  });

  it('warns of tasks that end before their turns are over', async () => {
    expect((await checkRun({ ...RUN, rollout: { max_turns: 60 } }, own)).warnings).toEqual([]);
    const { warnings } = await checkRun({ ...RUN, rollout: { max_turns: 4 } }, own);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^tasks: \d+ of \d+ tasks ask for more turns .* than rollout\.max_turns, 4, and end/,
      ),
      expect.stringMatching(/^eval_tasks: /),
    ]);
  });

  it('knows models of the hub that are well known, and says nothing of others', async () => {
    const known = await checkRun({ ...RUN, model: { name: 'Qwen/Qwen3-VL-2B-Instruct' } }, own);
    expect(known.model!.family).toBe('qwen3-vl');
    expect((await checkRun({ ...RUN, model: { name: 'lab/something' } }, own)).model).toBeNull();
    expect((await checkRun({ ...RUN, model: { name: 'theirs' } }, { services: 'broker' })).model).toBeNull();
  });

  it.each([
    [{ model: { name: '/no/such/model' } }, own, /^model\.name: there is no folder \/no\/such\/model/],
    [{ model: { name: GOLDEN, lora: { targets: ['nothing'] } } }, own, /^model\.lora: .*"nothing" names no/],
    [{ model: { name: GOLDEN, renderer_name: 'llama3' } }, own, /^model\.renderer_name: .*qwen3_vl_instruct/],
    [{ tasks: { source_type: 'file', path: __filename } }, own, /^tasks: /],
    [{}, { services: 'broker' }, /^model\.name is the folder/],
  ] as const)('refuses %j (%j), naming the option', async (options, services, message) => {
    await expect(checkRun({ ...RUN, ...options }, services)).rejects.toThrow(message);
  });

  it.each([
    [{ renderer_name: 'qwen3_5' }, undefined],
    [{ renderer_name: 'qwen3_5_disable_thinking', thinking: false }, undefined],
    [{ thinking: true }, undefined],
    [
      { renderer_name: 'qwen3_5_disable_thinking' },
      /^model\.renderer_name: .*qwen3_5; set model\.thinking: false/,
    ],
    [{ renderer_name: 'qwen3_5', thinking: false }, /^model\.renderer_name: .*; set model\.thinking: true/],
  ])('of a model that may reason, %j', async (options, message) => {
    const checked = checkRun({ ...RUN, model: { name: REASONING, ...options } }, own);
    if (message === undefined) await expect(checked).resolves.toMatchObject({ model: { family: 'qwen3-5' } });
    else await expect(checked).rejects.toThrow(message);
  });

  it('refuses thinking of a model whose template does not ask for it', async () => {
    const checked = checkRun({ ...RUN, model: { name: GOLDEN, thinking: false } }, own);
    await expect(checked).rejects.toThrow(/^model\.thinking: .*has no variable enable_thinking/);
  });

  it('takes the names of a renderer that the model has', async () => {
    for (const name of ['qwen3_vl', 'qwen3_vl_instruct']) {
      const { run } = await checkRun({ ...RUN, model: { name: GOLDEN, renderer_name: name } }, own);
      expect(run.model.renderer_name).toBe(name);
    }
  });
});

it('places a run by log_path where services are its own, or keep their runs there', async () => {
  const { run } = await checkRun({ ...RUN, logging: { log_path: '/runs/first' } }, own);
  expect(run.logging).toMatchObject({ log_dir: 'first' });
  expect(run.logging).not.toHaveProperty('log_path');
  const given = structuredClone(run);
  Object.assign(given.logging, { log_dir: undefined, log_path: '/runs/first' });
  expect(placeRun(given, '/other', 'own').runsDir).toBe('/runs');
  expect(placeRun(given, '/runs', 'broker').run.logging.log_dir).toBe('first');
  expect(placeRun(run, '/other', 'broker')).toEqual({ run, runsDir: '/other' });
});

describe('commands from the documents of related projects work unchanged', () => {
  const MODEL = ['--model_name', 'Qwen/Qwen3-VL-30B-A3B-Instruct'];
  const BATCH = ['--group_size', '4', '--groups_per_batch', '10'];
  const DEMO = [...MODEL, '--tasks', '{"source_type": "demo_training"}', ...BATCH];
  const typed = (...flags: string[]) => checkRun({}, { flags, services: 'broker' });

  it.each([
    ['alone', DEMO, 6],
    [
      'with evaluation',
      [...DEMO, '--eval_tasks', '{"source_type": "demo_eval"}', '--eval_every', '5', '--save_every', '5'],
      6,
    ],
    [
      'from several sources',
      [
        ...[...MODEL, ...BATCH, '--tasks'],
        '[{"source_type": "demo_training", "category": "settings", "limit": 20}, {"source_type": "demo_training", "category": "navigation", "limit": 10}]',
      ],
      3,
    ],
  ])('%s: one pass over the tasks, and it says so', async (_, flags, steps) => {
    const { run, notes, tasks } = await typed(...flags);
    expect(run.training.max_steps).toBe(steps);
    expect(steps).toBe(Math.ceil(tasks!.training / 10));
    expect(run.training).not.toHaveProperty('epochs');
    expect(notes).toEqual([
      expect.stringMatching(
        /^read model_name as model\.name, group_size as rollout\.group_size, groups_per_batch as training\.groups_per_batch/,
      ),
      `trains ${steps} steps: one pass over ${tasks!.training} tasks, 10 at a time; --training.max_steps, --training.epochs or --training.max_minutes says otherwise`,
    ]);
  });

  it('epochs are passes, and what has its own end has no pass', async () => {
    expect((await typed(...DEMO, '--training.epochs', '3')).run.training.max_steps).toBe(16);
    const two = await typed(...DEMO, '--training.epochs=2', '--training.max_minutes', '9');
    expect(two.run.training).toMatchObject({ max_steps: 11, max_minutes: 9 });
    expect((await typed(...DEMO, '--training.max_minutes', '9')).run.training.max_steps).toBe(0);
    expect((await typed(...DEMO, '--training.max_steps', '9')).notes).toHaveLength(1);
    await expect(typed(...DEMO, '--training.epochs', '3', '--training.max_steps', '9')).rejects.toThrow(
      'training.epochs and training.max_steps both say how many steps are trained',
    );
    await expect(typed(...DEMO, '--training.max_steps', '0')).rejects.toThrow('the training has no end');
  });

  it('a schedule falls until the end of the passes', async () => {
    const { run } = await typed(
      ...DEMO,
      '--training.schedule',
      'cosine',
      '--training.schedule.warmup_steps',
      '2',
    );
    expect(run.training.max_steps).toBe(6);
  });

  it('all options of the recipe, with a log_path that says where the run is', async () => {
    const { run, notes } = await typed(
      ...[...DEMO, '--box_type', 'android', '--max_turns', '20', '--lora_rank', '32', '--max_tokens', '2048'],
      ...[
        '--temperature',
        '1.0',
        '--kl_penalty_coef',
        '0.0',
        '--num_substeps',
        '1',
        '--max_steps_off_policy',
        '2',
      ],
      ...[
        '--log_path',
        '/elsewhere/first',
        '--wandb_project',
        'P',
        '--wandb_name',
        'N',
        '--num_groups_to_log',
        '1',
      ],
      ...['--compute_post_kl', 'false', '--behavior_if_log_dir_exists', 'ask', '--renderer_name', 'qwen3_vl'],
    );
    expect(run.environment.kind).toMatchObject({ name: 'gbox', box_type: 'android' });
    expect(run.logging.log_dir).toBe('first');
    expect(notes[0]).toMatch(
      /^read .*box_type as environment\.kind gbox with box_type.*wandb_name as logging\.trackers wandb/,
    );
    expect(notes[2]).toMatch(/^logging\.log_path is \/elsewhere\/first.*UIRL_RUNS_DIR=\/elsewhere$/);
  });

  it('keys are refused where services run already, and taken for services that the command starts', async () => {
    const keys = ['--gbox_api_key', 'K-secret', '--tinker_api_key', 'K-secret'];
    const refused = await typed(...DEMO, ...keys).catch((error: Error) => error.message);
    expect(refused).toMatch(
      /^--gbox_api_key: the services of a broker run already.*ui-rl up --gbox_api_key KEY/,
    );
    const { run, ...rest } = await checkRun({ ...RUN }, { ...own, flags: keys });
    expect(JSON.stringify([refused, run, rest])).not.toContain('K-secret');
    const unknown = checkRun({ ...RUN }, { ...own, flags: ['--gboks_api_key', 'K-secret'] });
    await expect(unknown).rejects.toThrow(/^unknown option --gboks_api_key: keys are .*--gbox_api_key/);
  });

  const CUSTOM =
    '{"source_type": "custom", "custom_tasks": ["Open Settings and enable Wi-Fi", "Send a message to Alice", "Take a screenshot"]}';
  const BOX = [...MODEL, '--tasks', CUSTOM, '--box_type', 'android'];

  it('goals in words are played in the box that is named, and the message says which option judges them', async () => {
    const message = await typed(...BOX).catch((error: Error) => error.message);
    const [, judge] = /^tasks: 3 of 3 tasks have no checks.*--rewards '(.*?)'/.exec(message as string)!;
    const { tasks, run } = await typed(...BOX, '--rewards', judge);
    expect(tasks!.training).toBe(3);
    expect(run.environment.kind.name).toBe('gbox');
  });

  it('so are goals that a source has words for, in other environments that open by themselves too', async () => {
    const known = '{"source_type": "custom", "custom_tasks": ["Turn on Wi-Fi"]}';
    const rewards = ['--rewards', '[{"name":"judge","base_url":"https://HOST/v1","model":"MODEL"}]'];
    for (const [kind, options] of [
      ['android', []],
      ['openenv', ['--environment.kind.servers', 'http://127.0.0.1:8000']],
      ['ui-verifiers', []],
    ] as const) {
      const named = ['--environment.kind', kind, ...options, '--training.max_steps', '1'];
      const { tasks } = await typed(...MODEL, '--tasks', known, ...named, ...rewards);
      expect([kind, tasks!.training]).toEqual([kind, 1]);
    }
    // The environment requires a page.
    const page = typed(...MODEL, '--tasks', CUSTOM, ...rewards);
    await expect(page).rejects.toThrow(/which no task source understands.*--environment\.kind gbox/);
  });

  it('a session of ui-verifiers is judged by what it counts, unless rewards are named', async () => {
    const sessions = [
      '--environment.ui_env_urls',
      'http://127.0.0.1:8000',
      '--task_prompt',
      'Complete the data entry form',
    ];
    expect((await typed(...MODEL, ...sessions)).run.rewards).toMatchObject([{ name: 'progress' }]);
    const unjudged = typed(...MODEL, ...sessions, '--rewards', 'task-success');
    await expect(unjudged).rejects.toThrow(/1 of 1 tasks have no checks.*Option rewards adds a judge/);
    expect((await typed(...DEMO)).run.rewards).toMatchObject([{ name: 'task-success' }]);
  });
});
