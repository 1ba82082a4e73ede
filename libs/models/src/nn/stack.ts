import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder, LinearShape } from './parameters';

/**
 * A stack of equal linear layers without bias, each over rows of its own: x [M, in], of which the first group passes the first layer,
 * and so on → [M, out]. `name` is one weight [layers, out, in]. Its adapter is laid out as PEFT does for a stacked parameter:
 * A [layers · rank, in] below each other, B [out, rank · layers] with the layers next to each other for every rank.
 */
export function stackedLinear(
  build: LayerBuilder,
  x: Value,
  groups: ops.RowGroups,
  name: string,
  { inFeatures, outFeatures }: Omit<LinearShape, 'bias'>,
): Value {
  const { graph, parameters } = build;
  const count = groups.dims.length;
  return graph.scope(name.split('.').at(-1) ?? name, () => {
    const { matrices, transposed } = parameters.stack(graph, name, [count, outFeatures, inFeatures]);
    const y = ops.groupedMatmul(x, groups, matrices, { transB: !transposed });
    const lora = parameters.lora(graph, name, inFeatures, outFeatures);
    if (lora === undefined) return y;
    const low = ops.groupedMatmul(x, groups, splitRows(lora.a, count), { transB: true });
    const up = splitRows(byLayer(lora.b, count), count);
    return ops.add(y, ops.groupedMatmul(low, groups, up, { transB: true, alpha: lora.scale }));
  });
}

/** [count · n, x] → count · [n, x] */
export function splitRows(x: Value, count: number): Value[] {
  const rows = (x.shape[0] as number) / count;
  return ops.split(x, Array<number>(count).fill(rows), 0);
}

/** B of all layers, [out, rank · layers] → [layers · out, rank]. */
function byLayer(b: Value, layers: number): Value {
  const [out, columns] = b.shape as [number, number];
  const rank = columns / layers;
  const moved = ops.transpose(ops.reshape(b, [out * rank, layers]));
  return ops.reshape(moved, [layers * out, rank]);
}
