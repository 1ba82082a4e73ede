/**
 * Permutation of a tile's patches (row-major) that makes the patches of one token adjacent: blocks of scaleFactor²
 * patches row after row, and row after row within a block.
 */
export function blockOrder(rows: number, columns: number, scaleFactor: number): Int32Array {
  const order = new Int32Array(rows * columns);
  let at = 0;
  for (let blockRow = 0; blockRow < rows; blockRow += scaleFactor) {
    for (let blockColumn = 0; blockColumn < columns; blockColumn += scaleFactor) {
      for (let inner = 0; inner < scaleFactor ** 2; inner++, at++) {
        const row = blockRow + Math.floor(inner / scaleFactor);
        order[at] = row * columns + blockColumn + (inner % scaleFactor);
      }
    }
  }
  return order;
}
