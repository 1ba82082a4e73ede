import { Graph, ops, Session, tensor, zeros } from '@ui-rl/graph';

/** Matrix sizes; the fastest determines the machine's rate. */
const SIZES = [512, 1024, 2048];
/** Operations per measurement and size. */
const FLOPS = 4e10;

/** This machine's rate of plain fp32 matrix products, by the tensor engine that trains. */
export class MatrixProducts {
  private constructor(private readonly products: readonly (() => Promise<number>)[]) {}

  static async prepare(): Promise<MatrixProducts> {
    return new MatrixProducts(await Promise.all(SIZES.map(prepareProduct)));
  }

  /** GFLOP/s of the fastest size. */
  async rate(): Promise<number> {
    let best = 0;
    for (const product of this.products) best = Math.max(best, await product());
    return best;
  }
}

async function prepareProduct(size: number): Promise<() => Promise<number>> {
  const graph = new Graph('matrix product');
  const shape = [size, size];
  graph.output('c', ops.matmul(graph.input('a', 'float32', shape), graph.input('b', 'float32', shape)));
  const session = await Session.create(graph, { config: { 'session.force_spinning_stop': '1' } });
  const operand = (): ReturnType<typeof tensor> =>
    tensor('float32', new Float32Array(size * size).fill(0.5), shape);
  const feeds = { a: operand(), b: operand() };
  const fetches = { c: zeros('float32', shape) };
  const repeats = Math.ceil(FLOPS / (2 * size ** 3));
  return async () => {
    await session.run(feeds, fetches);
    const began = performance.now();
    for (let i = 0; i < repeats; i += 1) await session.run(feeds, fetches);
    return (repeats * 2 * size ** 3) / (performance.now() - began) / 1e6;
  };
}
