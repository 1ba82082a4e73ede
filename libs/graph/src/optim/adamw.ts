import { GraphError } from '../errors';

/** Settings of AdamW; the defaults are Tinker's. */
export interface AdamWOptions {
  /** decay of the first moment; default 0.9 */
  readonly beta1?: number;
  /** decay of the second moment; default 0.95 */
  readonly beta2?: number;
  /** default 1e-8 */
  readonly epsilon?: number;
  /** decoupled: weights shrink by `learningRate · weightDecay` each step; default 0 */
  readonly weightDecay?: number;
}

/** Running means of one weight's gradient and of its square. */
export interface Moments {
  readonly first: Float32Array;
  readonly second: Float32Array;
}

/** What one step takes besides weights and gradients. */
export interface StepOptions {
  readonly learningRate: number;
  /** gradients are scaled down together to this norm; absent or 0: as they are */
  readonly maxNorm?: number;
}

/** Numbers that change from step to step, scalars each: see {@link stepScalars}. */
export const STEP_SCALARS = ['scale', 'rate', 'correction', 'keep'] as const;

export type StepScalars = Record<(typeof STEP_SCALARS)[number], number>;

/**
 * AdamW (Loshchilov & Hutter 2019, algorithm 2) over plain arrays.
 *
 * One loop in JavaScript takes 8.8 ms for 2.3 million weights on one core; the same step as a graph 17 ms, or 9.1 ms in
 * pieces that fit the cache, since each of its dozen operations goes through memory on its own. The loop also gives the
 * same bits on every machine, so a resumed run continues exactly.
 */
export class AdamW {
  /** steps taken so far */
  steps = 0;
  /** moments by name of the weight; weights not yet trained have none */
  readonly moments = new Map<string, Moments>();
  private readonly options: Required<AdamWOptions>;

  constructor(options: AdamWOptions = {}) {
    this.options = {
      beta1: options.beta1 ?? 0.9,
      beta2: options.beta2 ?? 0.95,
      epsilon: options.epsilon ?? 1e-8,
      weightDecay: options.weightDecay ?? 0,
    };
  }

  /**
   * Changes `weights` in place and returns the norm of all gradients before clipping. Throws `GraphError`, with nothing
   * changed, where a gradient is missing, has another length, or the norm is not finite.
   */
  step(
    weights: ReadonlyMap<string, Float32Array>,
    gradients: ReadonlyMap<string, Float32Array>,
    { learningRate, maxNorm = 0 }: StepOptions,
  ): number {
    checkGradients(weights, gradients);
    const norm = gradientNorm(gradients.values());
    if (!Number.isFinite(norm))
      throw new GraphError('gradient', `the gradient's norm is ${norm}; no step was taken`);
    const scale = clipScale(norm, maxNorm);
    this.steps += 1;
    for (const [name, weight] of weights)
      this.update(name, weight, gradients.get(name)!, learningRate, scale);
    return norm;
  }

  /** Goes on from saved `moments` (copied) after `steps` steps. */
  restore(steps: number, moments: ReadonlyMap<string, Moments>): void {
    this.steps = steps;
    this.moments.clear();
    for (const [name, { first, second }] of moments) {
      this.moments.set(name, { first: first.slice(), second: second.slice() });
    }
  }

  private update(
    name: string,
    weight: Float32Array,
    gradient: Float32Array,
    learningRate: number,
    scale: number,
  ): void {
    const { beta1, beta2, epsilon } = this.options;
    const { first, second } = this.momentsOf(name, weight.length);
    const { rate, correction, keep } = stepScalars(this.options, this.steps, learningRate, scale);
    const [fresh1, fresh2] = [1 - beta1, 1 - beta2];
    for (let i = 0; i < weight.length; i++) {
      const g = gradient[i] * scale;
      const m = beta1 * first[i] + fresh1 * g;
      const v = beta2 * second[i] + fresh2 * g * g;
      first[i] = m;
      second[i] = v;
      weight[i] = weight[i] * keep - (rate * m) / (Math.sqrt(v) * correction + epsilon);
    }
  }

  private momentsOf(name: string, length: number): Moments {
    let moments = this.moments.get(name);
    if (moments === undefined) {
      moments = { first: new Float32Array(length), second: new Float32Array(length) };
      this.moments.set(name, moments);
    }
    if (moments.first.length !== length) {
      throw new GraphError(
        'gradient',
        `moments of "${name}" have ${moments.first.length} numbers, expected ${length}`,
      );
    }
    return moments;
  }
}

function checkGradients(
  weights: ReadonlyMap<string, Float32Array>,
  gradients: ReadonlyMap<string, Float32Array>,
): void {
  for (const [name, weight] of weights) {
    const found = gradients.get(name)?.length;
    if (found !== weight.length) {
      throw new GraphError(
        'gradient',
        `the gradient of "${name}" has ${found ?? 'no'} numbers, expected ${weight.length}; no step was taken`,
      );
    }
  }
}

/** The Euclidean norm of all arrays together; not finite where any element is not. */
export function gradientNorm(gradients: Iterable<Float32Array>): number {
  let total = 0;
  for (const gradient of gradients) total += sumOfSquares(gradient);
  return Math.sqrt(total);
}

/** Four running sums, which the processor adds side by side. */
function sumOfSquares(x: Float32Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  const whole = x.length - (x.length % 4);
  for (let i = 0; i < whole; i += 4) {
    a += x[i] * x[i];
    b += x[i + 1] * x[i + 1];
    c += x[i + 2] * x[i + 2];
    d += x[i + 3] * x[i + 3];
  }
  for (let i = whole; i < x.length; i++) a += x[i] * x[i];
  return a + b + c + d;
}

/** What gradients of that norm are multiplied with so that it is at most `maxNorm`; 0 = as they are. */
export function clipScale(norm: number, maxNorm: number): number {
  return maxNorm > 0 && norm > maxNorm ? maxNorm / norm : 1;
}

/**
 * Scales arrays in place so that their common norm is at most `maxNorm`, and returns the norm before. Where it is not
 * finite nothing is changed; the caller decides what to do.
 */
export function clipGradNorm(gradients: readonly Float32Array[], maxNorm: number): number {
  const norm = gradientNorm(gradients);
  const scale = Number.isFinite(norm) ? clipScale(norm, maxNorm) : 1;
  if (scale === 1) return norm;
  for (const gradient of gradients) {
    for (let i = 0; i < gradient.length; i++) gradient[i] *= scale;
  }
  return norm;
}

/**
 * The scalars of a step.
 * @param step the number of this step, from 1 on
 * @param scale what gradients are multiplied with, to clip them
 */
export function stepScalars(
  { beta1 = 0.9, beta2 = 0.95, weightDecay = 0 }: AdamWOptions,
  step: number,
  learningRate: number,
  scale: number,
): StepScalars {
  return {
    scale,
    rate: learningRate / (1 - beta1 ** step),
    correction: 1 / Math.sqrt(1 - beta2 ** step),
    keep: 1 - learningRate * weightDecay,
  };
}
