/** A matrix in row-major order. */
export interface Matrix {
  rows: number;
  columns: number;
  data: Float64Array;
}

/**
 * Coefficients of the quintic iteration, tuned by Jordan 2024 for speed near 0 at the cost of singular values between
 * 0.7 and 1.2.
 */
const [A, B, C] = [3.4445, -4.775, 2.0315];
const ITERATIONS = 5;
const NORM_EPSILON = 1e-7;

/**
 * An approximation of U Vᵀ for G = U S Vᵀ: five steps X ← aX + (bM + cM²)X, M = X Xᵀ, from X = G / ‖G‖_F (Jordan
 * 2024, "Muon"). All iterates are X = P X₀ with a polynomial P of X₀X₀ᵀ, so the steps use square matrices of the
 * smaller side, and X is multiplied only twice.
 */
export function orthogonalized(matrix: Matrix): Matrix {
  if (matrix.rows > matrix.columns) return transposed(orthogonalized(transposed(matrix)));
  const x = scaled(matrix, 1 / (norm(matrix) + NORM_EPSILON));
  const gram = timesTransposed(x, x);
  let p = identity(x.rows);
  for (let step = 0; step < ITERATIONS; step += 1) {
    // Polynomials of one symmetric matrix commute and are symmetric themselves.
    const m = times(times(p, gram), p);
    const square = timesTransposed(m, m);
    const factor = identity(x.rows, A);
    for (let i = 0; i < factor.data.length; i += 1) factor.data[i] += B * m.data[i] + C * square.data[i];
    p = times(factor, p);
  }
  return times(p, x);
}

function norm({ data }: Matrix): number {
  let squares = 0;
  for (const each of data) squares += each * each;
  return Math.sqrt(squares);
}

function scaled({ rows, columns, data }: Matrix, factor: number): Matrix {
  return { rows, columns, data: data.map((each) => each * factor) };
}

function identity(size: number, diagonal = 1): Matrix {
  const data = new Float64Array(size * size);
  for (let i = 0; i < size; i += 1) data[i * size + i] = diagonal;
  return { rows: size, columns: size, data };
}

function transposed({ rows, columns, data }: Matrix): Matrix {
  const result = new Float64Array(data.length);
  for (let r = 0; r < rows; r += 1) {
    for (let c = 0; c < columns; c += 1) result[c * rows + r] = data[r * columns + c];
  }
  return { rows: columns, columns: rows, data: result };
}

/** Row by row, so that memory is read in order. */
function times(left: Matrix, right: Matrix): Matrix {
  const { rows, columns: inner } = left;
  const { columns } = right;
  const data = new Float64Array(rows * columns);
  for (let r = 0; r < rows; r += 1) {
    const row = data.subarray(r * columns, (r + 1) * columns);
    for (let k = 0; k < inner; k += 1) {
      const factor = left.data[r * inner + k];
      const from = k * columns;
      for (let c = 0; c < columns; c += 1) row[c] += factor * right.data[from + c];
    }
  }
  return { rows, columns, data };
}

/** left · rightᵀ */
function timesTransposed(left: Matrix, right: Matrix): Matrix {
  const inner = left.columns;
  const data = new Float64Array(left.rows * right.rows);
  for (let r = 0; r < left.rows; r += 1) {
    for (let c = 0; c < right.rows; c += 1) {
      let sum = 0;
      for (let k = 0; k < inner; k += 1) sum += left.data[r * inner + k] * right.data[c * inner + k];
      data[r * right.rows + c] = sum;
    }
  }
  return { rows: left.rows, columns: right.rows, data };
}
