/**
 * The central finite difference of a loss for the weight with the largest gradient, divided by that gradient: 1 if
 * the gradient is correct.
 */
export async function slopeRatio(
  weights: Float32Array,
  gradient: Float32Array,
  loss: () => Promise<number>,
  step = 1e-2,
): Promise<number> {
  const at = gradient.reduce(
    (best, value, index) => (Math.abs(value) > Math.abs(gradient[best]) ? index : best),
    0,
  );
  const before = weights[at];
  weights[at] = before + step;
  const above = await loss();
  weights[at] = before - step;
  const below = await loss();
  weights[at] = before;
  return (above - below) / (2 * step) / gradient[at];
}
