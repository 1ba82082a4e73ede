import { extentsOf, Graph, gradients, ops, Session, zeros } from './index';

describe('extents of symbols', () => {
  const graph = new Graph('g');
  const x = graph.input('x', 'float32', ['N', '4*Q', 'N*Q', 3]);
  const y = graph.input('y', 'float32', ['Q', 'B']);

  it('are read where a symbol stands alone', () => {
    const extents = extentsOf([x, y], { x: zeros('float32', [2, 20, 10, 3]), y: zeros('float32', [5, 1]) });
    expect(Object.fromEntries(extents)).toEqual({ N: 2, Q: 5, B: 1 });
    expect(() => extentsOf([y], { y: zeros('float32', [5]) })).toThrow('input "y" has rank 2, found [5]');
  });

  it('are read where a constant is added to a symbol', () => {
    const z = graph.input('z', 'float32', ['4*R+1', '2*R']);
    const extents = (rows: number, columns: number) =>
      extentsOf([z], { z: zeros('float32', [rows, columns]) });
    expect(Object.fromEntries(extents(13, 6))).toEqual({ R: 3 });
    expect(() => extents(13, 8)).toThrow('dimension "R" is 3 in the inputs before "z" and 4 there');
  });

  it('are read within the graph where a constant is added to a symbol', async () => {
    const sums = new Graph('rows');
    const rows = sums.input('rows', 'float32', ['2*K+1', 3]);
    sums.output('ones', ops.full(sums, ['K', 2], 1));
    sums.output('derivative', gradients(ops.reduceSum(ops.slice(rows, 0, 1)), [rows])[0]);
    const session = await Session.create(sums, { threads: 1 });
    const { ones, derivative } = await session.run({ rows: zeros('float32', [5, 3]) });
    expect(ones.dims).toEqual([2, 2]);
    expect(Array.from(derivative.data as Float32Array)).toEqual([0, 0, 0, ...Array<number>(12).fill(1)]);
    await session.release();
  });

  it('are refused where one symbol has two', () => {
    expect(() =>
      extentsOf([x, y], { x: zeros('float32', [2, 20, 10, 3]), y: zeros('float32', [7, 1]) }),
    ).toThrow('dimension "Q" is 5 in the inputs before "y" and 7 there');
  });

  it('are refused by a session before it computes a derivative of the wrong size', async () => {
    const sums = new Graph('sums');
    const [a, b] = ['a', 'b'].map((name) => sums.input(name, 'float32', ['K']));
    const total = ops.add(ops.reduceMean(ops.mul(a, a)), ops.reduceMean(ops.mul(b, b)));
    sums.output('derivative', gradients(total, [b])[0]);
    const session = await Session.create(sums, { threads: 1 });
    await expect(session.run({ a: zeros('float32', [2]), b: zeros('float32', [3]) })).rejects.toThrow(
      'graph "sums" failed: dimension "K" is 2 in the inputs before "b" and 3 there',
    );
    await session.run({ a: zeros('float32', [3]), b: zeros('float32', [3]) });
    await session.release();
  });
});
