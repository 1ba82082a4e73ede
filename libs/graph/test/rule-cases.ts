import { mulDims } from '../src/dims';
import { ops, type Value } from '../src/index';

/**
 * One check of derivatives: a function of float inputs, whose gradient by the rules must equal its finite
 * differences. Inputs are random in ±[0.2, 1.5], or in [0.2, 1.5] with `positive`.
 */
export interface RuleCase {
  readonly name: string;
  readonly inputs: readonly (readonly number[])[];
  readonly positive?: boolean;
  /** requires a device with 16-bit floats */
  readonly float16?: boolean;
  readonly build: (...inputs: Value[]) => Value;
}

const one = (name: string, build: (x: Value) => Value, positive = false): RuleCase => ({
  name,
  inputs: [[2, 3]],
  positive,
  build,
});

const indices = (x: Value, values: number[], shape: number[]): Value =>
  ops.reshape(ops.ints(x.graph, values), shape);

const broadcasts: readonly (readonly (readonly number[])[])[] = [
  [
    [2, 3],
    [2, 3],
  ],
  [[2, 3], [3]],
  [
    [1, 3],
    [4, 2, 1],
  ],
  [[2, 1, 3], []],
];

/** Softmax as weights of a sum, which has a shorter derivative; and with other uses, too. */
const attention: readonly RuleCase[] = [
  {
    name: 'softmax as weights',
    inputs: [
      [2, 3, 4],
      [2, 4, 5],
    ],
    build: (scores, values) => ops.matmul(ops.softmax(scores), values),
  },
  {
    name: 'softmax as weights that are broadcast',
    inputs: [
      [2, 3, 4],
      [4, 5],
    ],
    build: (scores, values) => ops.matmul(ops.softmax(scores), values),
  },
  {
    name: 'softmax as weights and besides',
    inputs: [
      [2, 3, 4],
      [2, 4, 5],
    ],
    build: (scores, values) => {
      const weights = ops.softmax(scores);
      return ops.concat([ops.matmul(weights, values), weights], 2);
    },
  },
  {
    name: 'softmax as weights with a factor, beside a sum that is not differentiated',
    inputs: [
      [2, 3, 4],
      [2, 4, 5],
    ],
    build: (scores, values) => {
      const weights = ops.softmax(scores);
      ops.matmul(weights, values);
      return ops.matmul(weights, values, { alpha: 2 });
    },
  },
  {
    name: 'softmax along rows as weights',
    inputs: [
      [2, 4, 4],
      [2, 4, 4],
    ],
    build: (scores, values) => ops.matmul(ops.softmax(scores, 1), values),
  },
];

const binaries: readonly RuleCase[] = (
  [
    ['add', ops.add],
    ['sub', ops.sub],
    ['mul', ops.mul],
    ['div', ops.div],
    ['min', ops.min],
    ['max', ops.max],
    ['pow', ops.pow],
    ['where', (a, b) => ops.where(ops.greater(a, b), ops.mul(a, 2), b)],
  ] as [string, (a: Value, b: Value) => Value][]
).flatMap(([name, build]) =>
  broadcasts.map((inputs) => ({
    name: `${name} ${JSON.stringify(inputs)}`,
    inputs,
    build,
    positive: name === 'pow',
  })),
);

const unaries: readonly RuleCase[] = [
  one('neg', ops.neg),
  one('abs', ops.abs),
  one('exp', ops.exp),
  one('log', ops.log, true),
  one('sqrt', ops.sqrt, true),
  one('rsqrt', ops.rsqrt, true),
  one('sin', ops.sin),
  one('cos', ops.cos),
  one('erf', ops.erf),
  one('tanh', ops.tanh),
  one('sigmoid', ops.sigmoid),
  one('relu', ops.relu),
  one('softplus', ops.softplus),
  one('silu', ops.silu),
  one('quickGelu', ops.quickGelu),
  one('gelu', (x) => ops.gelu(x)),
  one('gelu tanh', (x) => ops.gelu(x, 'tanh')),
  one('square', ops.square),
  one('pow of a number', (x) => ops.pow(x, 3)),
  one('clip', (x) => ops.clip(x, -0.7, 0.8)),
  {
    ...one('cast', (x) => ops.add(x, ops.mul(ops.cast(ops.cast(x, 'float16'), 'float32'), 0.05))),
    float16: true,
  },
  one('a value used twice', (x) => ops.mul(ops.exp(x), ops.tanh(x))),
  one('past stopGradient', (x) => ops.add(x, ops.mul(ops.stopGradient(ops.mul(x, 0)), x))),
  one('sign', (x) => ops.mul(ops.sign(x), x)),
  one('floor', (x) => ops.add(ops.mul(ops.floor(ops.mul(x, 0.1)), 2), ops.square(x))),
];

const products: readonly RuleCase[] = [
  ...[
    {
      inputs: [
        [2, 3],
        [3, 4],
      ],
    },
    {
      inputs: [
        [2, 5, 3],
        [3, 4],
      ],
    },
    {
      inputs: [
        [2, 2, 5, 3],
        [2, 2, 3, 4],
      ],
    },
    {
      inputs: [
        [2, 1, 5, 3],
        [4, 3, 2],
      ],
    },
  ].map(({ inputs }) => ({
    name: `matmul ${JSON.stringify(inputs)}`,
    inputs,
    build: (a: Value, b: Value) => ops.matmul(a, b),
  })),
  ...[false, true].flatMap((transA) =>
    [false, true].flatMap((transB) =>
      [[], [2]].flatMap((batch) => {
        const options = { transA, transB, alpha: 0.5 };
        const inputs = [
          [...batch, ...(transA ? [3, 5] : [5, 3])],
          [...batch, ...(transB ? [4, 3] : [3, 4])],
        ];
        const label = `${JSON.stringify(inputs)}${transA ? ' A transposed' : ''}${transB ? ' B transposed' : ''}`;
        const fused = {
          name: `matmul ${label}`,
          inputs,
          build: (a: Value, b: Value) => ops.matmul(a, b, options),
        };
        const gemm = {
          name: `gemm ${label}`,
          inputs: [...inputs, [4]],
          build: (...[a, b, c]: Value[]) => ops.gemm(a, b, c, options),
        };
        return batch.length === 0 ? [fused, gemm] : [fused];
      }),
    ),
  ),
  {
    name: 'matmul, shared transposed matrix',
    inputs: [
      [2, 5, 3],
      [4, 3],
    ],
    build: (a, b) => ops.matmul(a, b, { transB: true }),
  },
  { name: 'linear', inputs: [[2, 5, 3], [4, 3], [4]], build: (x, w, b) => ops.linear(x, w, b) },
  {
    name: 'linear without bias',
    inputs: [
      [5, 3],
      [4, 3],
    ],
    build: (x, w) => ops.linear(x, w),
  },
  { name: 'linearInOut', inputs: [[2, 5, 3], [3, 4], [4]], build: (x, w, b) => ops.linearInOut(x, w, b) },
];

const shape = (name: string, inputs: RuleCase['inputs'], build: RuleCase['build']): RuleCase => ({
  name,
  inputs,
  build,
});

const shapes: readonly RuleCase[] = [
  shape('reshape', [[2, 3, 4]], (x) => ops.reshape(x, [x.shape[0], -1])),
  shape('transpose', [[2, 3, 4]], (x) => ops.transpose(x, [2, 0, 1])),
  shape('unsqueeze and squeeze', [[2, 3]], (x) => ops.squeeze(ops.square(ops.unsqueeze(x, [1])), [1])),
  shape(
    'concat',
    [
      [2, 3],
      [2, 1],
      [2, 2],
    ],
    (...parts) => ops.concat(parts, 1),
  ),
  shape('slice from the front', [[4, 3]], (x) => ops.slice(x, 0, 1, 3)),
  shape('slice from the end', [[4, 3]], (x) => ops.slice(x, -1, -2)),
  shape('split', [[2, 5]], (x) => ops.mul(...(ops.split(ops.slice(x, 1, 1), [2, 2], 1) as [Value, Value]))),
  shape('split, one part unused', [[2, 5]], (x) => ops.split(x, [2, 3], 1)[1]),
  shape('expand', [[2, 1, 3]], (x) => ops.expand(x, [4, x.shape[0], 5, 3])),
  shape(
    'concat of many',
    Array.from({ length: 9 }, (_, i) => [2, 1 + (i % 2)]),
    (...parts) => ops.concat(parts, 1),
  ),
  shape('repeatInterleave', [[2, 3]], (x) => ops.repeatInterleave(x, 3, 1)),
  shape('pad', [[2, 3]], (x) => {
    const pads = [ops.ints(x.graph, [1, 2]), ops.scalar(x.graph, 0), ops.ints(x.graph, [1])];
    return x.graph.node('Pad', [x, ...pads], {}, [{ dtype: 'float32', shape: [x.shape[0], 6] }])[0];
  }),
  shape('triangle', [[2, 3, 3]], (x) => ops.triangle(x, 'lower', -1)),
  shape('triangle, upper', [[3, 3]], (x) => ops.triangle(x, 'upper')),
];

const reductions: readonly RuleCase[] = [
  ...(
    [
      ['reduceSum', ops.reduceSum],
      ['reduceMean', ops.reduceMean],
      ['reduceMax', ops.reduceMax],
      ['reduceMin', ops.reduceMin],
    ] as const
  ).flatMap(([name, reduce]) => [
    shape(`${name} of all`, [[2, 3]], (x) => reduce(x)),
    shape(`${name} of the last axis, kept`, [[2, 3]], (x) => reduce(x, [-1], true)),
    shape(`${name} of two axes`, [[2, 3, 4]], (x) => reduce(x, [0, 2])),
  ]),
  shape('cumSum', [[2, 4]], (x) => ops.cumSum(x, 1)),
  shape('topK', [[2, 4]], (x) => ops.topK(x, 2).values),
  shape('gather rows', [[4, 3]], (x) => ops.gather(x, indices(x, [1, 3, 1, 0], [2, 2]))),
  shape('gather along the last axis', [[2, 3, 4]], (x) => ops.gather(x, indices(x, [1, 3, 1], [3]), -1)),
  shape('gather one', [[4, 3]], (x) => ops.gather(x, ops.scalar(x.graph, 2, 'int64'))),
  shape('takeAlongAxis', [[2, 4]], (x) =>
    ops.takeAlongAxis(x, ops.assumeShape(indices(x, [1, 1, 3, 0, 2, 1], [2, 3]), [x.shape[0], 3]), 1),
  ),
  shape(
    'scatterRows',
    [
      [4, 3],
      [2, 3],
    ],
    (x, rows) => ops.scatterRows(x, ops.ints(x.graph, [2, 0]), rows),
  ),
  shape(
    'scatterElements',
    [
      [4, 3],
      [2, 3],
    ],
    (x, parts) => ops.scatterElements(x, indices(x, [1, 0, 3, 2, 1, 1], [2, 3]), parts, 0),
  ),
  shape(
    'scatterRows, adding',
    [
      [4, 3],
      [3, 3],
    ],
    (x, rows) => ops.scatterRows(x, ops.ints(x.graph, [2, 0, 2]), rows, 'add'),
  ),
];

/** Rows in groups whose sizes the graph computes; with 9 groups, one operation slices their products. */
const grouped = (groups: number): RuleCase => ({
  name: `groupedMatmul, ${groups} groups, some empty`,
  inputs: [[5, 3], ...Array.from({ length: groups }, () => [4, 3])],
  build: (x, ...matrices) => {
    const counts = ops.countEach(ops.ints(x.graph, [2, 1, 2, 2, 1]), groups);
    const groupsOfRows = ops.rowGroups(counts);
    return ops.groupedMatmul(x, groupsOfRows, matrices, { transB: true, alpha: 0.5 });
  },
});

const rows: readonly RuleCase[] = [
  grouped(4),
  grouped(9),
  shape('gatherEvenly', [[4, 3]], (x) => {
    const twice = ops.ints(x.graph, [1, 3, 2, 0, 0, 2, 1, 3]);
    return ops.gatherEvenly(x, ops.assumeShape(twice, [mulDims(2, x.shape[0])]));
  }),
  shape('gatherEvenly, a permutation', [[4, 3]], (x) => {
    const order = ops.assumeShape(ops.ints(x.graph, [1, 3, 2, 0]), [x.shape[0]]);
    return ops.gatherEvenly(x, ops.inversePermutation(order));
  }),
];

const normalisations: readonly RuleCase[] = [
  shape('softmax', [[2, 3, 4]], (x) => ops.softmax(x)),
  shape('softmax of a middle axis', [[2, 3, 4]], (x) => ops.softmax(x, 1)),
  ...attention,
  shape('logSoftmax', [[2, 3, 4]], (x) => ops.logSoftmax(x)),
  shape('layerNorm', [[2, 3, 5], [5], [5]], (x, scale, bias) => ops.layerNorm(x, scale, bias, 1e-5)),
  shape('layerNorm without bias', [[3, 5], [5]], (x, scale) => ops.layerNorm(x, scale, null, 1e-5)),
  shape('rmsNorm', [[2, 3, 5], [5]], (x, scale) => ops.rmsNorm(x, scale, 1e-5)),
  shape('rmsNormUnscaled', [[3, 5]], (x) => ops.rmsNormUnscaled(x, 1e-5)),
  ...[8, 12].map((width) =>
    shape(`rotary of 4 numbers of ${width / 2}`, [[2, 3, width]], (x) => {
      const angle = (phase: number): Value => {
        const table = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i / 3 + phase));
        return x.graph.constant('float32', [2, 3, 2], table);
      };
      const [cos, sin] = [angle(0), angle(1)].map((table) => ops.assumeShape(table, [x.shape[0], 3, 2]));
      return ops.rotary(x, cos, sin, 2);
    }),
  ),
];

/** At least one case for every rule of the table. */
export const ruleCases: readonly RuleCase[] = [
  ...binaries,
  ...unaries,
  ...products,
  ...shapes,
  ...reductions,
  ...rows,
  ...normalisations,
];
