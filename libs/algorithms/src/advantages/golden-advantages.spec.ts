import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ComponentRegistry, type ComponentChoice, type EpisodeGroup } from '@ui-rl/plugin-kit';
import { components } from '../components';

interface GoldenTurn {
  reward: number;
  screenshot: string;
  logprobs: number[];
  reference_logprobs: number[];
  values: number[];
}

interface Golden {
  groups: { reward: number; turns: GoldenTurn[] }[][];
  cases: { choice: ComponentChoice; advantages: (number[][] | null)[][] }[];
}

/** Golden values from PyTorch: test/golden/make_algorithms.py. */
const golden = JSON.parse(
  readFileSync(join(__dirname, '../../../../test/golden/algorithms/advantages.json'), 'utf8'),
) as Golden;

const registry = new ComponentRegistry(
  components.map((component) => ({ component, file: '@ui-rl/algorithms' })),
);

const groups = golden.groups.map((episodes, g): EpisodeGroup => ({
  task: { id: `t${g}`, description: 'Turn on Wi-Fi' } as EpisodeGroup['task'],
  episodes: episodes.map(({ reward, turns }, e) => ({
    rolloutId: `g${g}-r${e}`,
    reward,
    rewards: {},
    success: null,
    status: 'completed',
    turns: turns.map(({ logprobs, reference_logprobs, values, ...turn }) => ({
      ...turn,
      logprobs: Float32Array.from(logprobs),
      inputs: {
        reference_logprobs: Float32Array.from(reference_logprobs),
        // The golden values of distillation take them for those of the teacher.
        teacher_logprobs: Float32Array.from(reference_logprobs),
        values: Float32Array.from(values),
      },
    })),
  })),
}));

describe('advantages', () => {
  it.each(golden.cases)('of $choice are those that PyTorch computes', ({ choice, advantages }) => {
    const found = registry.create('advantage', choice, {}).estimate(groups).advantages;
    advantages.forEach((group, g) =>
      group.forEach((episode, e) => {
        const shape = (turns: readonly ArrayLike<number>[] | null): unknown =>
          turns?.map(({ length }) => length);
        expect([g, e, shape(found[g][e])]).toEqual([g, e, shape(episode)]);
        const [numbers, expected] = [found[g][e], episode].map((turns) =>
          (turns ?? []).flatMap((turn) => [...turn]),
        );
        const gap = Math.max(0, ...expected.map((value, token) => Math.abs(value - numbers[token])));
        expect(gap).toBeLessThan(1e-5);
      }),
    );
  });

  it('are all compared', () => {
    const names = components.filter(({ kind }) => kind === 'advantage').map(({ name }) => name);
    expect(new Set(golden.cases.map(({ choice }) => choice.name))).toEqual(new Set(names));
  });
});
