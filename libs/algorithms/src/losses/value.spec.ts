import { evaluateLoss, type EvaluatedLoss } from '../../test/evaluate-loss';
import { value } from './value';

// Unchanged; moved towards the return within the clip, beyond it, past the return; moved away from it.
const values = [0, 0.1, 0.5, 1.5, -0.5];
const returns = [1, 1, 1, 1, 1];

const evaluate = (value_clip: number, weights = values.map(() => 1)): Promise<EvaluatedLoss> =>
  evaluateLoss(value, { value_clip }, { logprobs: values, values: values.map(() => 0), returns, weights });

it('is half the squared error; beyond its clip range a value that comes nearer has no gradient', async () => {
  const errors = values.map((each) => each - 1);
  const plain = await evaluate(0);
  expect(plain.metrics).toEqual({});
  plain.gradient.forEach((found, token) => expect(found).toBeCloseTo(errors[token], 6));
  const { gradient, metrics } = await evaluate(0.2);
  const slopes = [-1, -0.9, 0, 0, -1.5];
  gradient.forEach((found, token) => expect(found).toBeCloseTo(slopes[token], 6));
  expect(metrics.clip_fraction).toEqual([0, 0, 1, 1, 0]);
  const losses = [0.5, 0.405, 0.32, 0.32, 1.125];
  for (const [token, expected] of losses.entries()) {
    const only = values.map((_, other) => (other === token ? 2 : 0));
    expect((await evaluate(0.2, only)).loss).toBeCloseTo(2 * expected, 6);
  }
});
