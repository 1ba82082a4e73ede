import { tensor, type Tensor } from '@ui-rl/graph';

export interface KvCacheShape {
  layers: number;
  rows: number;
  kvHeads: number;
  /** Tokens a row has room for. */
  capacity: number;
  headDim: number;
}

/** Names of one layer's cache tensors in a graph. */
export interface KvNames {
  past: string;
  present: string;
}

/**
 * Keys and values of all rows, one buffer per layer and kind, [rows, kvHeads, capacity, headDim]. Rows lie one after the
 * other, so that any range of rows is a tensor over the same memory: attention reads and extends it in place, no copies.
 */
export class KvCache {
  private readonly buffers: { names: KvNames; data: Float32Array }[] = [];
  private readonly rowSize: number;
  private readonly views = new Map<
    string,
    { feeds: Record<string, Tensor>; fetches: Record<string, Tensor> }
  >();

  constructor(
    readonly shape: KvCacheShape,
    names: readonly KvNames[],
  ) {
    this.rowSize = shape.kvHeads * shape.capacity * shape.headDim;
    for (const each of names)
      this.buffers.push({ names: each, data: new Float32Array(shape.rows * this.rowSize) });
  }

  /** The cache of `count` rows from `first` on, as what a session reads (feeds) and writes (fetches): the same tensors. */
  view(first: number, count: number): { feeds: Record<string, Tensor>; fetches: Record<string, Tensor> } {
    const key = `${first}+${count}`;
    let view = this.views.get(key);
    if (view === undefined) {
      const { kvHeads, capacity, headDim } = this.shape;
      view = { feeds: {}, fetches: {} };
      for (const { names, data } of this.buffers) {
        const rows = data.subarray(first * this.rowSize, (first + count) * this.rowSize);
        const shared = tensor('float32', rows, [count, kvHeads, capacity, headDim]);
        view.feeds[names.past] = shared;
        view.fetches[names.present] = shared;
      }
      this.views.set(key, view);
    }
    return view;
  }

  /** Copies the first `tokens` tokens of one row over another. */
  moveRow(from: number, to: number, tokens: number): void {
    const { kvHeads, capacity, headDim } = this.shape;
    const headSize = capacity * headDim;
    for (const { data } of this.buffers) {
      for (let head = 0; head < kvHeads; head += 1) {
        const start = from * this.rowSize + head * headSize;
        data.copyWithin(to * this.rowSize + head * headSize, start, start + tokens * headDim);
      }
    }
  }
}
