import { makeTrajectory, makeTurn } from '@ui-rl/testkit';
import type { ProcessedImage } from '@ui-rl/models';
import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { readRunFile } from '@ui-rl/settings';
import { Group } from './groups';
import { learnerOptions, openTrajectories } from './run-options';
import { advantagesOf, findDefect, samplesOf, hasLearningSignal } from './samples';
import { environmentMetrics, joinSubsteps } from './step-metrics';
import { split } from './trainer';

const PLACEHOLDER = 9;
const images = async (hashes: readonly string[]) =>
  hashes.map((sha256) => ({ sha256, tokens: 2 }) as ProcessedImage);

const said = {
  promptTokenIds: [1, PLACEHOLDER, PLACEHOLDER, 2],
  promptImages: ['a'],
  imageTokens: 2,
  tokenIds: [5, 6],
  logprobs: [-0.5, -0.25],
  temperature: 0.7,
};

describe('samples', () => {
  it('are what was read and said, token by token; nothing else is trained', async () => {
    const [sample, ...others] = await samplesOf(
      makeTrajectory({ turns: [makeTurn(said), makeTurn({ tokenIds: [], logprobs: [] })] }),
      -1.5,
      images,
    );
    expect(others).toEqual([]);
    expect([...(sample.tokenIds as Int32Array)]).toEqual([1, 9, 9, 2, 5, 6]);
    expect([...(sample.mask as Uint8Array)]).toEqual([0, 0, 0, 0, 1, 1]);
    expect([...(sample.oldLogprobs as Float32Array)]).toEqual([0, 0, 0, 0, -0.5, -0.25]);
    expect(sample).toMatchObject({ advantages: -1.5, temperature: 0.7, images: [{ sha256: 'a' }] });
  });

  it('are refused where images and placeholders do not add up', async () => {
    const bad = makeTrajectory({ turns: [makeTurn({ ...said, promptImages: ['a', 'b'] })] });
    await expect(samplesOf(bad, 1, images)).rejects.toThrow('its images have 4 features, its prompt 2');
    expect(findDefect(makeTrajectory({ turns: [makeTurn(said)] }), PLACEHOLDER)).toBeUndefined();
    expect(
      findDefect(makeTrajectory({ turns: [makeTurn({ ...said, imageTokens: 3 })] }), PLACEHOLDER),
    ).toContain('2 image placeholders but 3 image features');
    expect(
      findDefect(makeTrajectory({ turns: [makeTurn({ ...said, logprobs: [1] })] }), PLACEHOLDER),
    ).toContain('2 tokens but 1 log-probabilities');
  });

  it('follow the selection: advantages, or the successes alone', () => {
    const rejection = { kind: 'rejection', rewardThreshold: 0, bestOfGroup: false } as const;
    const centred = { kind: 'advantage', advantage: 'dr_grpo' } as const;
    expect(advantagesOf([1, 0], rejection)).toEqual([1, null]);
    expect(advantagesOf([1, 0], centred)).toEqual([0.5, -0.5]);
    // Where all succeed there is nothing to compare, but something to imitate.
    expect(hasLearningSignal([1, 1], centred)).toBe(false);
    expect(hasLearningSignal([1, 1], rejection)).toBe(true);
    expect(hasLearningSignal([0, 0], rejection)).toBe(false);
  });
});

describe('the metrics of a step', () => {
  function group(index: number, rewards: number[]): Group {
    const made = new Group(index, `g${index}`, rewards.length);
    rewards.forEach((reward, member) => {
      const trajectory = makeTrajectory({
        reward,
        success: reward === 1,
        turns: [makeTurn({ ...said, policyVersion: 3 })],
      });
      trajectory.request.indexInGroup = member;
      made.add(trajectory, true);
    });
    return made;
  }

  it('say what the episodes were like', () => {
    const metrics = environmentMetrics(
      [group(0, [1, 1]), group(1, [0, 0]), group(2, [1, 0]), group(3, [0, 1])],
      4,
    );
    expect(metrics).toMatchObject({
      'env/all/reward/total': 0.5,
      'env/all/success': 0.5,
      'env/all/by_group/frac_mixed': 0.5,
      'env/all/by_group/frac_all_good': 0.25,
      'env/all/by_group/frac_all_bad': 0.25,
      'env/all/turns_per_episode': 1,
      'env/all/ac_tokens_per_turn': 2,
      'sampling_client/step_mean': 3,
      'async/steps_off_policy_max': 0,
    });
  });

  it('add up over the parts of a batch', () => {
    const joined = joinSubsteps([
      { 'optim/tokens': 10, 'optim/loss': 1, 'optim/ratio_max': 2 },
      { 'optim/tokens': 5, 'optim/loss': 3, 'optim/ratio_max': 1 },
    ]);
    expect(joined).toEqual({ 'optim/tokens': 15, 'optim/loss': 2, 'optim/ratio_max': 2 });
    expect(split([1, 2, 3, 4, 5], 2)).toEqual([
      [1, 2],
      [3, 4, 5],
    ]);
    expect(split([1], 3)).toEqual([[1]]);
  });
});

describe('the run file', () => {
  const base = [
    '--model.name',
    '/m',
    '--tasks',
    '{"source_type":"demo_training"}',
    '--training.max_steps',
    '9',
  ];
  const machine = { hub: { endpoint: 'http://127.0.0.1:9', cacheDir: '/nowhere' }, cacheDir: '/nowhere' };
  let components: ComponentRegistry;
  beforeAll(async () => {
    components = await loadComponents();
  });
  const read = (...flags: string[]) =>
    learnerOptions(readRunFile({ flags: [...base, ...flags] }, components), machine);

  it('becomes the options of learner and engine', () => {
    const options = read(
      ...['--algorithm.advantage', 'grpo', '--algorithm.loss', 'ppo', '--clip_high', '0.28'],
      ...['--training.schedule', 'cosine', '--rollout.concurrency', '6', '--training.deterministic', 'true'],
    );
    expect(options.selection).toEqual({ kind: 'advantage', advantage: 'grpo' });
    expect(options.loss).toMatchObject({ name: 'ppo', clipHigh: 0.28 });
    expect(options.learningRate).toMatchObject({ kind: 'cosine', totalSteps: 9 });
    expect(options.engine).toMatchObject({ modelDir: '/m', maxRows: 6, deterministic: true });
    expect(options.maxReplacedGroups).toBe(0);
  });

  it('is refused where more episodes would wait than the broker lets one consumer hold', () => {
    const flags = ['--training.groups_per_batch', '10', '--rollout.group_size', '8'];
    expect(openTrajectories(read(...flags))).toBe(80);
    expect(() => read(...flags, '--async.max_steps_off_policy', '9')).toThrow(
      'up to 800 episodes would wait',
    );
  });
});
