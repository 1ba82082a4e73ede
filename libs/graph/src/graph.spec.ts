import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Graph, ops, Session, tensor, zeros, type Value } from './index';

/** Runs a graph once and returns its results as plain numbers. */
async function evaluate(
  build: (graph: Graph) => Value,
  feeds: Parameters<Session['run']>[0] = {},
): Promise<{ data: number[]; shape: readonly number[]; declared: Value['shape'] }> {
  const graph = new Graph('test');
  const result = build(graph);
  graph.output('result', result);
  const session = await Session.create(graph, { threads: 1 });
  const { result: found } = await session.run(feeds);
  await session.release();
  return { data: Array.from(found.data as Float32Array, Number), shape: found.dims, declared: result.shape };
}

describe('Graph', () => {
  it('names nodes by the scopes they are built in', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', ['B', 4]);
    graph.scope('model', () => graph.scope('layers.0', () => [ops.add(x, 1), ops.add(x, 2)]));
    expect(graph.nodes.map((node) => node.name)).toEqual(['/model/layers.0/Add', '/model/layers.0/Add_1']);
  });

  it('shares equal small constants and keeps different ones apart', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', ['B', 4]);
    ops.mul(ops.add(x, 1), 1);
    ops.add(ops.cast(x, 'int64'), 1);
    expect(graph.constants).toHaveLength(2);
  });

  it('refuses a constant whose bytes do not fit its shape', () => {
    const graph = new Graph('g');
    expect(() => graph.parameter('w', { dtype: 'float32', shape: [3], data: new Float32Array(2) })).toThrow(
      'constant "w" of type float32 and shape [3] needs 12 bytes, found 8',
    );
  });

  it('refuses values of another graph and names that are taken', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [2]);
    const other = new Graph('h').input('y', 'float32', [2]);
    expect(() => ops.add(x, other)).toThrow('belongs to graph "h"');
    expect(() => graph.input('x', 'float32', [2])).toThrow('has the name "x" already');
  });

  it('refuses to broadcast different symbols', () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', ['B', 4]);
    const y = graph.input('y', 'float32', ['T', 4]);
    expect(() => ops.add(x, y)).toThrow('"x" [B, 4] and "y" [T, 4]');
    expect(ops.add(x, ops.assumeShape(y, ['B', 4])).shape).toEqual(['B', 4]);
  });

  it('gives inputs and constants out, and one value under several names', async () => {
    const graph = new Graph('g');
    const x = graph.input('x', 'float32', [2]);
    const y = ops.add(x, 1);
    graph.output('same', x);
    graph.output('one', y);
    graph.output('two', y);
    const session = await Session.create(graph);
    const found = await session.run({ x: tensor('float32', [1, 2]) });
    await session.release();
    expect(Object.entries(found).map(([name, t]) => [name, ...(t.data as Float32Array)])).toEqual([
      ['same', 1, 2],
      ['one', 2, 3],
      ['two', 2, 3],
    ]);
  });
});

describe('shapes with symbols', () => {
  const x24 = tensor(
    'float32',
    Array.from({ length: 24 }, (_, i) => i),
    [2, 3, 4],
  );

  it.each<[string, (x: Value) => Value, Value['shape'], number[]]>([
    ['two symbols into one', (x) => ops.reshape(x, ['B*T', 4]), ['B*T', 4], [6, 4]],
    ['an open dimension', (x) => ops.reshape(x, [-1, 2]), ['2*B*T', 2], [12, 2]],
    [
      'symbols exchanged',
      (x) => ops.reshape(ops.transpose(x, [1, 0, 2]), ['T', 2, 'B', 2]),
      ['T', 2, 'B', 2],
      [3, 2, 2, 2],
    ],
    ['heads split off', (x) => ops.reshape(x, ['B', 'T', 2, 2]), ['B', 'T', 2, 2], [2, 3, 2, 2]],
    ['slice to the end', (x) => ops.slice(x, 1, 1), ['B', 'T-1', 4], [2, 2, 4]],
    ['slice from the end', (x) => ops.slice(x, 1, -2), ['B', 2, 4], [2, 2, 4]],
    ['concatenation', (x) => ops.concat([x, ops.slice(x, 1, 1)], 1), ['B', '2*T-1', 4], [2, 5, 4]],
    ['expand', (x) => ops.expand(ops.slice(x, 0, 0, 1), ['T', 'T', 4]), ['T', 'T', 4], [3, 3, 4]],
    ['repeat', (x) => ops.repeatInterleave(x, 2, 0), ['2*B', 'T', 4], [4, 3, 4]],
    ['range', (x) => ops.range(x.graph, 'B*T'), ['B*T'], [6]],
    ['split', (x) => ops.split(x, [1, 3], 2)[1], ['B', 'T', 3], [2, 3, 3]],
    ['unsqueeze', (x) => ops.unsqueeze(x, [0, -1]), [1, 'B', 'T', 4, 1], [1, 2, 3, 4, 1]],
    ['full', (x) => ops.full(x.graph, ['B', 'T+1'], 2), ['B', 'T+1'], [2, 4]],
  ])('%s', async (_, build, declared, real) => {
    const found = await evaluate((graph) => build(graph.input('x', 'float32', ['B', 'T', 4])), { x: x24 });
    expect(found.declared).toEqual(declared);
    expect(found.shape).toEqual(real);
  });

  it('refuses a reshape that changes the number of elements', () => {
    const x = new Graph('g').input('x', 'float32', ['B', 4]);
    expect(() => ops.reshape(x, ['B', 5])).toThrow('4*B elements cannot become 5*B');
  });
});

describe('external data', () => {
  let folder: string;
  beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'graph-'))));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is read at its offset, by absolute path and through links', async () => {
    const file = join(folder, 'weights.bin');
    writeFileSync(file, Buffer.concat([Buffer.alloc(16), Buffer.from(Float32Array.of(1, 2, 3, 4).buffer)]));
    const link = join(folder, 'link.bin');
    symlinkSync(file, link);
    for (const path of [file, link]) {
      const found = await evaluate(
        (graph) => {
          const x = graph.input('x', 'float32', [1, 2]);
          const w = graph.parameter('w', {
            dtype: 'float32',
            shape: [2, 2],
            external: { path, offset: 16, length: 16 },
          });
          return ops.linear(x, w);
        },
        { x: tensor('float32', [1, 10], [1, 2]) },
      );
      expect(found.data).toEqual([21, 43]);
    }
  });

  it('that is missing ends the creation with the path', async () => {
    const graph = new Graph('g');
    const path = join(folder, 'absent.bin');
    graph.output(
      'y',
      graph.parameter('w', { dtype: 'float32', shape: [1], external: { path, offset: 0, length: 4 } }),
    );
    await expect(Session.create(graph)).rejects.toThrow(`${path}" with constants of a graph cannot be read`);
  });
});

describe('Session', () => {
  it("writes into the caller's tensors", async () => {
    const graph = new Graph('g');
    graph.output('y', ops.mul(graph.input('x', 'float32', ['N']), 2));
    const session = await Session.create(graph);
    const y = zeros('float32', [3]);
    await session.run({ x: tensor('float32', [1, 2, 3]) }, { y });
    await session.release();
    expect([...(y.data as Float32Array)]).toEqual([2, 4, 6]);
  });

  it('names the graph when a run fails', async () => {
    const graph = new Graph('adder');
    graph.output('y', ops.add(graph.input('x', 'float32', [2]), 1));
    const session = await Session.create(graph);
    await expect(session.run({ x: tensor('float32', [1]) })).rejects.toThrow('graph "adder" failed');
    await session.release();
  });
});

describe('forward operations', () => {
  it('rotary embedding matches its definition', async () => {
    const x = [1, 2, 3, 4, 5, 6, 7, 8];
    const angles = [0.3, 1.1];
    const found = await evaluate(
      (graph) => {
        const input = graph.input('x', 'float32', ['B', 'T', 8]);
        const table = graph.input('angles', 'float32', ['B', 'T', 2]);
        return ops.rotary(input, ops.cos(table), ops.sin(table), 2);
      },
      { x: tensor('float32', x, [1, 1, 8]), angles: tensor('float32', angles, [1, 1, 2]) },
    );
    const expected = [0, 4].flatMap((head) => {
      const [a, b, c, d] = x.slice(head, head + 4);
      const [[s0, c0], [s1, c1]] = angles.map((angle) => [Math.sin(angle), Math.cos(angle)]);
      return [a * c0 - c * s0, b * c1 - d * s1, c * c0 + a * s0, d * c1 + b * s1];
    });
    found.data.forEach((value, i) => expect(value).toBeCloseTo(expected[i], 5));
  });

  it('one-hot, gather and scatter agree', async () => {
    const rows = await evaluate((graph) => {
      const table = graph.constant('float32', [3, 2], Float32Array.of(1, 2, 3, 4, 5, 6));
      const picked = ops.gather(table, ops.ints(graph, [2, 0]));
      return ops.scatterRows(table, ops.ints(graph, [1, 1]), picked, 'add');
    });
    expect(rows.data).toEqual([1, 2, 9, 12, 5, 6]);
    const hot = await evaluate((graph) => ops.oneHot(ops.ints(graph, [1, 0]), 3));
    expect(hot.data).toEqual([0, 1, 0, 1, 0, 0]);
  });

  it('adding rows at one place from several threads loses none', async () => {
    const [rows, width] = [20_000, 16];
    const graph = new Graph('g');
    const updates = graph.input('updates', 'float32', [rows, width]);
    const indices = ops.mod(ops.range(graph, rows), 2);
    graph.output('sum', ops.scatterRows(ops.full(graph, [2, width], 0), indices, updates, 'add'));
    const session = await Session.create(graph, { threads: 4 });
    const feeds = { updates: tensor('float32', new Float32Array(rows * width).fill(1), [rows, width]) };
    for (let run = 0; run < 40; run++) {
      const { sum } = await session.run(feeds);
      expect([...new Set(sum.data as Float32Array)]).toEqual([rows / 2]);
    }
    await session.release();
  });
});
