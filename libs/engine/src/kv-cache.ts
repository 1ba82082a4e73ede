import { tensor, type Tensor } from '@ui-rl/graph';

export interface KvCacheShape {
  rows: number;
  kvHeads: number;
  /** Tokens a row has room for. */
  capacity: number;
  headDim: number;
}

/** Names of one layer's keys or values in a graph: the cache it reads, and what it adds. */
export interface KvNames {
  past: string;
  added: string;
}

/** A row's tokens of one pass: which row of the pass, how many, and where in the cache they go. */
export interface KvPlace {
  row: number;
  tokens: number;
  position: number;
}

/**
 * Keys and values of all rows, one buffer per layer and kind, [rows, kvHeads, capacity, headDim]. Rows lie one after the
 * other, so that any range of rows is a tensor over the same memory. Sessions only read it: the Node binding copies every
 * result, so a pass gives what it adds (`new_*`) and that is written here.
 */
export class KvCache {
  private readonly buffers: { names: KvNames; data: Float32Array }[];
  private readonly rowSize: number;
  private readonly views = new Map<number, Record<string, Tensor>>();

  constructor(
    readonly shape: KvCacheShape,
    private readonly names: readonly KvNames[],
  ) {
    this.rowSize = shape.kvHeads * shape.capacity * shape.headDim;
    this.buffers = names.map((each) => ({ names: each, data: new Float32Array(shape.rows * this.rowSize) }));
  }

  /** The cache of the first `count` rows, as a session reads it. */
  view(count: number): Record<string, Tensor> {
    let view = this.views.get(count);
    if (view === undefined) {
      const { kvHeads, capacity, headDim } = this.shape;
      view = {};
      for (const { names, data } of this.buffers) {
        const rows = data.subarray(0, count * this.rowSize);
        view[names.past] = tensor('float32', rows, [count, kvHeads, capacity, headDim]);
      }
      this.views.set(count, view);
    }
    return view;
  }

  /** What has to be asked of a session so that `write` finds it. */
  get fetches(): Record<string, null> {
    return Object.fromEntries(this.names.map(({ added }) => [added, null]));
  }

  /** Takes over what a pass added: results [rows of the pass, kvHeads, T, headDim], of which each row has its own length. */
  write(outputs: Readonly<Record<string, Tensor>>, places: readonly KvPlace[], firstRow: number): void {
    const { kvHeads, capacity, headDim } = this.shape;
    for (const { names, data } of this.buffers) {
      const added = outputs[names.added];
      const source = added.data as Float32Array;
      const width = added.dims[2] * headDim;
      for (const { row, tokens, position } of places) {
        for (let head = 0; head < kvHeads; head += 1) {
          const from = (row * kvHeads + head) * width;
          const to = ((firstRow + row) * kvHeads + head) * capacity * headDim + position * headDim;
          copy(source, from, data, to, tokens * headDim);
        }
      }
    }
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

  /** A cache with room for more tokens that holds the same rows. */
  grown(capacity: number, rows: number): KvCache {
    const larger = new KvCache({ ...this.shape, capacity }, this.names);
    const { kvHeads, headDim } = this.shape;
    const [small, large] = [this.shape.capacity * headDim, capacity * headDim];
    this.buffers.forEach(({ data }, index) => {
      for (let head = 0; head < rows * kvHeads; head += 1) {
        larger.buffers[index].data.set(data.subarray(head * small, (head + 1) * small), head * large);
      }
    });
    return larger;
  }
}

/** Few numbers are copied faster one by one than through a view. */
function copy(source: Float32Array, from: number, target: Float32Array, to: number, count: number): void {
  if (count > 256) {
    target.set(source.subarray(from, from + count), to);
    return;
  }
  for (let i = 0; i < count; i += 1) target[to + i] = source[from + i];
}
