/** Parameter of the cubic convolution, as in PyTorch. */
const A = -0.75;

/** Weights of the four neighbours of a point at distance `fraction` from the second one. */
function cubicWeights(fraction: number): number[] {
  const near = (x: number): number => ((A + 2) * x - (A + 3)) * x * x + 1;
  const far = (x: number): number => ((A * x - 5 * A) * x + 8 * A) * x - 4 * A;
  return [far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)];
}

/** Weights [count, side] that interpolate `side` entries of one axis at `count` patches. */
function axisWeights(count: number, side: number): Float64Array {
  const weights = new Float64Array(count * side);
  for (let index = 0; index < count; index++) {
    const place = (side / count) * (index + 0.5) - 0.5;
    const floor = Math.floor(place);
    cubicWeights(place - floor).forEach((weight, tap) => {
      const entry = Math.min(Math.max(floor - 1 + tap, 0), side - 1);
      weights[index * side + entry] += weight;
    });
  }
  return weights;
}

/**
 * Bicubic interpolation of a learned, square position table for a picture (`interpolate` of PyTorch,
 * `align_corners=False`): weights [rows · columns, side²]. The identity for a picture of the table's size.
 *
 * @param side rows (= columns) of the table
 */
export function bicubicWeights(rows: number, columns: number, side: number): Float32Array {
  const [vertical, horizontal] = [axisWeights(rows, side), axisWeights(columns, side)];
  const weights = new Float32Array(rows * columns * side * side);
  let at = 0;
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      for (let y = 0; y < side; y++) {
        for (let x = 0; x < side; x++, at++) {
          weights[at] = vertical[row * side + y] * horizontal[column * side + x];
        }
      }
    }
  }
  return weights;
}
