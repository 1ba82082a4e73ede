import { Graph, Session, tensor } from '@ui-rl/graph';
import { normals } from '@ui-rl/random';
import { orthogonalized } from './muon';

test.each([
  [6, 9],
  [9, 6],
  [8, 8],
])('rows or columns of a %d × %d matrix become about orthonormal', async (rows, columns) => {
  const graph = new Graph('orthogonalized');
  graph.output('orthogonal', orthogonalized(graph.input('matrix', 'float32', [rows, columns])));
  const session = await Session.create(graph);
  const matrix = tensor('float32', normals(rows * columns, 3, 5), [rows, columns]);
  const result = (await session.run({ matrix })).orthogonal.data as Float32Array;
  await session.release();
  const size = Math.min(rows, columns);
  const at = (i: number, k: number) => (rows <= columns ? result[i * columns + k] : result[k * columns + i]);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) {
      let dot = 0;
      for (let k = 0; k < Math.max(rows, columns); k++) dot += at(i, k) * at(j, k);
      // The quintic maps singular values to between 0.7 and 1.2, so their squares to between 0.45 and 1.45.
      if (i === j) expect(dot).toBeGreaterThan(0.4);
      if (i === j) expect(dot).toBeLessThan(1.5);
      else expect(Math.abs(dot)).toBeLessThan(0.5);
    }
  }
});
