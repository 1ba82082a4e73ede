import { join } from 'node:path';
import { checkRun } from './check-run';
import { placeRun } from './log-path';

const GOLDEN = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');
const RUN = { model: GOLDEN, tasks: 'demo_training', eval_tasks: 'demo_eval', max_steps: 5 };
const own = { services: 'own' } as const;

describe('a look at a run file without starting it', () => {
  it('counts its tasks and what is trained', async () => {
    const { tasks, model, run } = await checkRun(RUN, own);
    expect(tasks!.training).toBeGreaterThan(tasks!.evaluation);
    expect(model!.family).toBe('qwen3-vl');
    const smaller = await checkRun(RUN, { ...own, flags: ['--lora_rank', String(run.model.lora.rank / 2)] });
    expect(smaller.model!.trainedParameters).toBe(model!.trainedParameters / 2);
    const whole = await checkRun({ ...RUN, model: { name: GOLDEN, use_lora: false } }, own);
    expect(whole.model!.trainedParameters).toBeGreaterThan(model!.trainedParameters);
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
    const known = await checkRun({ ...RUN, model: 'Qwen/Qwen3-VL-2B-Instruct' }, own);
    expect(known.model!.family).toBe('qwen3-vl');
    expect((await checkRun({ ...RUN, model: 'somebody/something' }, own)).model).toBeNull();
    expect((await checkRun({ ...RUN, model: 'theirs' }, { services: 'broker' })).model).toBeNull();
  });

  it.each([
    [{ model: '/no/such/model' }, own, /^model\.name: there is no folder \/no\/such\/model/],
    [{ model: { name: GOLDEN, lora: { targets: ['nothing'] } } }, own, /^model\.lora: .*"nothing" names no/],
    [{ model: { name: GOLDEN, renderer_name: 'llama3' } }, own, /^model\.renderer_name: .*qwen3_vl_instruct/],
    [{ tasks: { source_type: 'file', path: __filename } }, own, /^tasks: /],
    [
      { log_path: '/elsewhere/first' },
      { services: 'broker' },
      /^logging\.log_path is .*UIRL_RUNS_DIR=\/elsewhere/,
    ],
    [{}, { services: 'broker' }, /^model\.name is the folder/],
  ] as const)('refuses %j (%j), naming the option', async (options, services, message) => {
    await expect(checkRun({ ...RUN, ...options }, services)).rejects.toThrow(message);
  });

  it('takes the names of a renderer that the model has', async () => {
    for (const name of ['qwen3_vl', 'qwen3_vl_instruct']) {
      const { run } = await checkRun({ ...RUN, renderer_name: name }, own);
      expect(run.model.renderer_name).toBe(name);
    }
  });
});

it('places a run by log_path where services are its own, or keep their runs there', async () => {
  const { run } = await checkRun({ ...RUN, log_path: '/runs/first' }, own);
  expect(run.logging).toMatchObject({ log_dir: 'first' });
  expect(run.logging).not.toHaveProperty('log_path');
  const given = structuredClone(run);
  Object.assign(given.logging, { log_dir: undefined, log_path: '/runs/first' });
  expect(placeRun(given, '/other', 'own').runsDir).toBe('/runs');
  expect(placeRun(given, '/runs', 'broker').run.logging.log_dir).toBe('first');
  expect(placeRun(run, '/other', 'broker')).toEqual({ run, runsDir: '/other' });
});
