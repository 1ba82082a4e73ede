import { ops, type Graph, type Value } from '@ui-rl/graph';
import { ModelError } from '../errors';
import type { LayerBuilder, LinearShape } from './layer-builder';
import type { LoraValues, MatrixStack, PackedStack } from './parameter-source';

/**
 * A stack of equal linear layers without bias: `name` is one weight [layers, out, in]. Its adapter has PEFT's layout
 * for a stacked parameter: A [layers · rank, in] stacked by layer, B [out, rank · layers] with the layers adjacent
 * for every rank.
 */
export class LinearStack {
  private readonly stored: MatrixStack | PackedStack;
  private readonly lora: LoraValues | undefined;

  constructor(
    build: LayerBuilder,
    name: string,
    private readonly layers: number,
    { inFeatures, outFeatures }: Omit<LinearShape, 'bias'>,
  ) {
    const { graph, parameters } = build;
    this.stored = parameters.stack(graph, name, [layers, outFeatures, inFeatures]);
    this.lora = parameters.lora(graph, name, inFeatures, outFeatures);
  }

  /** Whether the storage type of the matrices has no arithmetic. */
  get isConverted(): boolean {
    return 'matrix' in this.stored && this.stored.isConverted;
  }

  /** Whether matrices are multiplied in their storage format, which only {@link one} supports. */
  get isPacked(): boolean {
    return 'product' in this.stored;
  }

  /**
   * Applies each layer to its own group of rows: x [M, in], whose first group passes the first layer, and so on → [M,
   * out].
   */
  grouped(x: Value, groups: ops.RowGroups): Value {
    const { stored } = this;
    if (!('matrix' in stored))
      throw new ModelError('unsupported', 'a packed stack is multiplied layer by layer');
    const weights = Array.from({ length: this.layers }, (_, layer) => stored.matrix(x.graph, layer));
    const y = ops.groupedMatmul(x, groups, weights, { transB: !stored.transposed });
    if (this.lora === undefined) return y;
    const { a, b, scale } = this.lora;
    const low = ops.groupedMatmul(x, groups, splitRows(a, this.layers), { transB: true });
    const up = splitRows(byLayer(b, this.layers), this.layers);
    return ops.add(y, ops.groupedMatmul(low, groups, up, { transB: true, alpha: scale }));
  }

  /** Applies one layer to all rows, x [R, in] → [R, out]. In a loop body, only that layer is converted or sliced. */
  one(x: Value, layer: number): Value {
    const { stored } = this;
    const y =
      'product' in stored
        ? stored.product(x, layer)
        : ops.gemm(x, stored.matrix(x.graph, layer), null, { transB: !stored.transposed });
    if (this.lora === undefined) return y;
    const { a, b, scale } = this.lora;
    const low = ops.gemm(x, rowsOf(x.graph, a, layer, this.layers), null, { transB: true });
    const up = columnsOf(x.graph, b, layer, this.layers);
    return ops.add(y, ops.gemm(low, up, null, { transB: true, alpha: scale }));
  }
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

/** A of one layer, [rank, in], sliced in `graph`. */
function rowsOf(graph: Graph, a: Value, layer: number, layers: number): Value {
  const [rows, width] = a.shape as [number, number];
  const rank = rows / layers;
  const bounds = [layer * rank, (layer + 1) * rank, 0].map((bound) => ops.ints(graph, [bound]));
  return graph.node('Slice', [a, ...bounds], {}, [{ dtype: a.dtype, shape: [rank, width] }])[0];
}

/** B of one layer, [out, rank], selected in `graph`. */
function columnsOf(graph: Graph, b: Value, layer: number, layers: number): Value {
  const [out, columns] = b.shape as [number, number];
  const rank = columns / layers;
  const cube = ops.reshape(b, [out, rank, layers]);
  const index = ops.scalar(graph, layer, 'int64');
  return graph.node('Gather', [cube, index], { axis: 2 }, [{ dtype: b.dtype, shape: [out, rank] }])[0];
}
