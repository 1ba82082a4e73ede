import { MAX_KEPT_TOKENS } from '@ui-rl/plugin-kit';
import { uniformAt } from '@ui-rl/random';
import { sampleToken } from './sampling';

const values = [0, Math.log(2), Math.log(5), -100];

/** softmax(values / temperature) */
function probabilities(temperature = 1): Float32Array {
  const weights = values.map((value) => Math.exp(value / temperature));
  const all = weights.reduce((sum, weight) => sum + weight);
  return Float32Array.from(weights, (weight) => weight / all);
}

describe('sampling', () => {
  it('is greedy at temperature 0 and reports the log-probability at temperature 1', () => {
    const { token, logprob } = sampleToken(probabilities(), { temperature: 0, topP: 1 }, 0.99);
    expect(token).toBe(2);
    expect(logprob).toBeCloseTo(Math.log(5 / 8), 6);
  });

  it('draws each token as often as its probability says, log-probabilities scaled by temperature', () => {
    const temperature = 2;
    const weights = [1, Math.sqrt(2), Math.sqrt(5)];
    const sum = weights[0] + weights[1] + weights[2];
    const scaled = probabilities(temperature);
    const counts = [0, 0, 0, 0];
    const draws = 20000;
    for (let i = 0; i < draws; i += 1) {
      const { token, logprob } = sampleToken(scaled, { temperature, topP: 1 }, uniformAt(7, i));
      counts[token] += 1;
      expect(logprob).toBeCloseTo(Math.log(weights[token] / sum), 5);
    }
    weights.forEach((weight, token) =>
      expect(Math.abs(counts[token] / draws - weight / sum)).toBeLessThan(0.015),
    );
    expect(counts[3]).toBe(0);
  });

  it('keeps to the nucleus', () => {
    const seen = new Set<number>();
    for (let i = 0; i < 500; i += 1) {
      seen.add(sampleToken(probabilities(), { temperature: 1, topP: 0.8 }, uniformAt(3, i)).token);
    }
    expect([...seen].toSorted((a, b) => a - b)).toEqual([1, 2]);
    expect(sampleToken(probabilities(), { temperature: 1, topP: 0.1 }, 0.999).token).toBe(2);
  });

  it('reports what is left of a distribution that is cut, and its log-probability there', () => {
    const likely = sampleToken(probabilities(), { temperature: 1, topP: 1, topK: 2 }, 0.99);
    expect(likely).toEqual({
      token: 1,
      logprob: expect.closeTo(Math.log(2 / 7), 5),
      kept: Int32Array.of(1, 2),
    });
    const nucleus = sampleToken(probabilities(), { temperature: 1, topP: 0.6 }, 0.99);
    expect(nucleus).toEqual({ token: 2, logprob: 0, kept: Int32Array.of(2) });
    // The top-p share of the top three does not need the third.
    const both = sampleToken(probabilities(), { temperature: 1, topP: 0.8, topK: 3 }, 0.99);
    expect(both.kept).toEqual(Int32Array.of(1, 2));
    const without = sampleToken(probabilities(), { temperature: 1, topP: 1, topK: 2 }, 0.99, [2]);
    expect(without).toEqual({
      token: 0,
      logprob: expect.closeTo(Math.log(1 / 3), 5),
      kept: Int32Array.of(0, 1),
    });
    expect(sampleToken(probabilities(), { temperature: 1, topP: 1 }, 0.99).kept).toBeUndefined();
    expect(sampleToken(probabilities(), { temperature: 0, topP: 0.1, topK: 1 }, 0.99).kept).toBeUndefined();
  });

  it('keeps at most as many tokens as can be recorded', () => {
    const even = new Float32Array(2000).fill(1 / 2000);
    const { kept, logprob } = sampleToken(even, { temperature: 1, topP: 0.99 }, 0.5);
    expect(kept).toHaveLength(MAX_KEPT_TOKENS);
    expect(logprob).toBeCloseTo(-Math.log(MAX_KEPT_TOKENS), 5);
  });

  it('never draws what is forbidden, and reports the probability it would have had anyway', () => {
    for (let i = 0; i < 200; i += 1) {
      const drawn = sampleToken(probabilities(), { temperature: 1, topP: 1 }, uniformAt(3, i), [2]);
      expect([0, 1]).toContain(drawn.token);
      expect(drawn.logprob).toBeCloseTo(Math.log([1, 2][drawn.token] / 8), 5);
    }
    expect(sampleToken(probabilities(), { temperature: 0, topP: 1 }, 0, [2]).token).toBe(1);
  });

  it('finds the same nucleus among many unlikely tokens as by sorting all of them', () => {
    const weights = Float64Array.from({ length: 500 }, (_, token) => uniformAt(11, token) ** 8);
    const all = weights.reduce((sum, weight) => sum + weight);
    const many = Float32Array.from(weights, (weight) => weight / all);
    const order = [...many.keys()].toSorted((a, b) => many[b] - many[a]);
    const nucleus = new Set<number>();
    for (let mass = 0; mass < 0.9; mass += many[order[nucleus.size - 1]]) nucleus.add(order[nucleus.size]);
    const seen = new Set<number>();
    for (let i = 0; i < 20_000; i += 1) {
      seen.add(sampleToken(many, { temperature: 1, topP: 0.9 }, uniformAt(5, i)).token);
    }
    expect([...seen].every((token) => nucleus.has(token))).toBe(true);
    expect(seen.size).toBe(nucleus.size);
  });

  it('never draws past the end, with any rounding error', () => {
    expect(sampleToken(probabilities(), { temperature: 1, topP: 1 }, 1 - 2 ** -53).token).toBe(2);
  });
});

it.each([
  { temperature: 0, topP: 1 },
  { temperature: 1, topP: 1 },
  { temperature: 1, topP: 0.9 },
  { temperature: 1, topP: 1, topK: 3 },
])('probabilities that are NaN give no token, with %j', (options) => {
  const broken = new Float32Array(4).fill(Number.NaN);
  expect(() => sampleToken(broken, options, 0.5)).toThrow('no probabilities, but NaN');
});

describe('the counter-based generator', () => {
  it('depends on seed and position alone and fills the interval evenly', () => {
    expect(uniformAt(5, 9)).toBe(uniformAt(5, 9));
    expect(uniformAt(5, 9)).not.toBe(uniformAt(6, 9));
    expect(uniformAt(2 ** 40 + 5, 9)).not.toBe(uniformAt(5, 9));
    const bins = new Array<number>(10).fill(0);
    for (let seed = 0; seed < 100; seed += 1) {
      for (let position = 0; position < 100; position += 1) {
        const value = uniformAt(seed, position);
        expect(value >= 0 && value < 1).toBe(true);
        bins[Math.floor(value * 10)] += 1;
      }
    }
    // 10,000 draws, 1,000 ± 30 per bin
    for (const count of bins) expect(Math.abs(count - 1000)).toBeLessThan(130);
  });
});
