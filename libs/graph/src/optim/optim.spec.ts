import { AdamW, clipGradNorm, gradientNorm, learningRateAt } from '../index';

describe('AdamW', () => {
  const start = (): Map<string, Float32Array> =>
    new Map([
      ['a', Float32Array.of(1, -2, 0.5)],
      ['b', Float32Array.of(3)],
    ]);
  const gradientsOf = (step: number): Map<string, Float32Array> =>
    new Map([
      ['a', Float32Array.of(0.3, -0.1 * (step + 1), 2)],
      ['b', Float32Array.of(-step)],
    ]);
  const options = { weightDecay: 0.01 };
  const stepOptions = { learningRate: 0.1, maxNorm: 1 };

  it('takes the steps that torch.optim.AdamW with clip_grad_norm_ takes', () => {
    // torch 2.13: AdamW(lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01), clip_grad_norm_(…, 1.0)
    const expected = [
      [2.0248456, 0.8990000486, -1.8980000019, 0.3995000124, 2.99699998],
      [2.26495028, 0.7984086871, -1.7990891933, 0.2994081676, 3.0674991608],
      [2.86006999, 0.6991900206, -1.6998913288, 0.2006885111, 3.1476693153],
    ];
    const optimizer = new AdamW(options);
    const weights = start();
    expected.forEach(([norm, ...values], step) => {
      expect(optimizer.step(weights, gradientsOf(step), stepOptions)).toBeCloseTo(norm, 5);
      [...weights.values()].flatMap((w) => [...w]).forEach((w, i) => expect(w).toBeCloseTo(values[i], 5));
    });
  });

  it('continues bit for bit from saved moments', () => {
    const [whole, resumed] = [start(), start()];
    const first = new AdamW(options);
    for (let step = 0; step < 4; step++) first.step(whole, gradientsOf(step), stepOptions);
    const before = new AdamW(options);
    for (let step = 0; step < 2; step++) before.step(resumed, gradientsOf(step), stepOptions);
    const after = new AdamW(options);
    after.restore(before.steps, before.moments);
    for (let step = 2; step < 4; step++) after.step(resumed, gradientsOf(step), stepOptions);
    expect(resumed).toEqual(whole);
  });

  it('changes nothing where a gradient is not finite or missing', () => {
    const weights = start();
    const optimizer = new AdamW();
    const bad = gradientsOf(1).set('b', Float32Array.of(Number.NaN));
    expect(() => optimizer.step(weights, bad, stepOptions)).toThrow(
      "the gradient's norm is NaN; no step was taken",
    );
    expect(() => optimizer.step(weights, new Map(), stepOptions)).toThrow(
      'the gradient of "a" has no numbers',
    );
    expect([weights, optimizer.steps]).toEqual([start(), 0]);
  });
});

describe('clipGradNorm', () => {
  it('scales all arrays together and gives the norm before', () => {
    const [a, b] = [Float32Array.of(3, 0, 0, 0, 0), Float32Array.of(4)];
    expect(clipGradNorm([a, b], 10)).toBe(5);
    expect([a[0], b[0]]).toEqual([3, 4]);
    expect(clipGradNorm([a, b], 1)).toBe(5);
    expect(gradientNorm([a, b])).toBeCloseTo(1, 6);
  });

  it('counts every element, whatever the length', () => {
    for (let length = 0; length < 9; length++) {
      expect(gradientNorm([new Float32Array(length).fill(2)])).toBeCloseTo(2 * Math.sqrt(length), 6);
    }
  });

  it('leaves gradients alone whose norm is not finite', () => {
    const a = Float32Array.of(1, Infinity);
    expect(clipGradNorm([a], 1)).toBe(Infinity);
    expect([...a]).toEqual([1, Infinity]);
  });
});

describe('learningRateAt', () => {
  const warm = { peak: 8, warmupSteps: 4, totalSteps: 12 };

  it.each([
    ['constant', [2, 4, 6, 8, 8, 8, 8, 8]],
    ['linear', [2, 4, 6, 8, 8, 4, 0, 0]],
    ['cosine', [2, 4, 6, 8, 8, 4, 0, 0]],
  ] as const)('%s with warm-up', (kind, expected) => {
    const found = [0, 1, 2, 3, 4, 8, 12, 20].map((step) => learningRateAt({ kind, ...warm }, step));
    found.forEach((rate, i) => expect(rate).toBeCloseTo(expected[i], 9));
  });

  it('falls slowly first along a cosine, and ends at the given fraction', () => {
    expect(learningRateAt({ kind: 'cosine', peak: 1, totalSteps: 4 }, 1)).toBeCloseTo(0.853553, 5);
    expect(learningRateAt({ kind: 'linear', peak: 1, totalSteps: 4, finalFraction: 0.2 }, 9)).toBeCloseTo(
      0.2,
      9,
    );
  });

  it('needs to know the end of the run', () => {
    expect(() => learningRateAt({ kind: 'linear', peak: 1 }, 0)).toThrow('needs totalSteps');
  });
});
