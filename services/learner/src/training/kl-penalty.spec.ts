import type { Turn } from '@ui-rl/contracts';
import { turnOf } from '../../test/groups';
import { penalizeDrift } from './kl-penalty';
import { postKl } from './post-kl';

it('takes the drift of a token off its advantage, as far as it exceeds the mean of the batch', () => {
  const [first, second, unscored] = [[-1, -2], [-0.5], []].map((logprobs) =>
    turnOf(logprobs.length, { logprobs }),
  );
  const all = (turn: Turn): boolean[] => turn.logprobs.map(() => true);
  const advantages = new Map([
    [first, Float32Array.of(1, 1)],
    [second, Float32Array.of(-1)],
    [unscored, Float32Array.of()],
  ]);
  const reference = new Map([
    [first, Float32Array.of(-2, -1.5)],
    [second, Float32Array.of(-1.5)],
  ]);
  // Drifts 1, -0.5 and 1; their mean is 0.5.
  const { advantages: penalized, metrics } = penalizeDrift(advantages, reference, 0.2, all);
  expect(metrics).toEqual({ kl_policy_base: 0.5 });
  const expected = [[1 - 0.1, 1 + 0.2], [-1 - 0.1], []];
  [first, second, unscored].forEach((turn, index) =>
    expect([...penalized.get(turn)!]).toEqual(expected[index].map(Math.fround)),
  );
  // The second turn is too old to be trained on: the mean is that of 1 and -0.5.
  const within = penalizeDrift(advantages, reference, 0.2, (turn) => all(turn).map(() => turn === first));
  expect(within.metrics).toEqual({ kl_policy_base: 0.25 });
  expect([...within.advantages.get(first)!]).toEqual([1 - 0.15, 1 + 0.15].map(Math.fround));
});

it('says how far a step moved the policy', () => {
  const moved = postKl([
    { before: [-1, -2], after: [-1.5, -1] },
    { before: [-1], after: [-1] },
  ]);
  // Differences 0.5, -1 and 0.
  expect(moved.kl_pre_post_v1).toBeCloseTo(-0.5 / 3, 12);
  expect(moved.kl_pre_post_v2).toBeCloseTo(1.25 / 6, 12);
  expect(postKl([])).toEqual({});
});
