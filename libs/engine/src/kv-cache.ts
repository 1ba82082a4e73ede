import { tensor, type Tensor } from '@ui-rl/graph';

export interface KvCacheShape {
  rows: number;
  kvHeads: number;
  /** Tokens a row has memory for. */
  room: number;
  headDim: number;
}

/** Places per row come in multiples of so many. */
const CAPACITY_STEP = 32;

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
 * other, so that any range of rows is a tensor over the same memory. Every pass reads the whole capacity, most of the memory
 * traffic of many rows: it is no larger than the longest row needs, and grows in place up to the room there is.
 * Sessions only read the cache: the Node binding copies every result, so a pass gives what it adds (`new_*`) and that is
 * written here.
 */
export class KvCache {
  private readonly buffers: { names: KvNames; data: Float32Array }[];
  private readonly views = new Map<number, Record<string, Tensor>>();
  private places = 0;

  constructor(
    readonly shape: KvCacheShape,
    private readonly names: readonly KvNames[],
  ) {
    const size = shape.rows * shape.kvHeads * shape.room * shape.headDim;
    this.buffers = names.map((each) => ({ names: each, data: new Float32Array(size) }));
  }

  /** Tokens each row has places for at present. */
  get capacity(): number {
    return this.places;
  }

  /** Makes places for so many tokens in each row; the first `rows` rows keep what they hold. */
  widen(tokens: number, rows: number): void {
    const { kvHeads, headDim, room } = this.shape;
    if (tokens > room) throw new Error(`the cache has room for ${room} tokens in a row, not for ${tokens}`);
    if (tokens <= this.places) return;
    const capacity = Math.min(Math.ceil(tokens / CAPACITY_STEP) * CAPACITY_STEP, room);
    const [from, to] = [this.places * headDim, capacity * headDim];
    for (const { data } of this.buffers) {
      // From behind: what is in the way has been moved already.
      for (let head = rows * kvHeads - 1; head > 0; head -= 1) {
        data.copyWithin(head * to, head * from, (head + 1) * from);
      }
    }
    this.places = capacity;
    this.views.clear();
  }

  /** Forgets all rows. */
  clear(): void {
    this.places = 0;
    this.views.clear();
  }

  /** The cache of the first `count` rows, as a session reads it. */
  view(count: number): Record<string, Tensor> {
    let view = this.views.get(count);
    if (view === undefined) {
      const { kvHeads, headDim } = this.shape;
      view = {};
      for (const { names, data } of this.buffers) {
        const rows = data.subarray(0, count * this.rowSize);
        view[names.past] = tensor('float32', rows, [count, kvHeads, this.places, headDim]);
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
    const { kvHeads, headDim } = this.shape;
    for (const { names, data } of this.buffers) {
      const added = outputs[names.added];
      const source = added.data as Float32Array;
      const width = added.dims[2] * headDim;
      for (const { row, tokens, position } of places) {
        for (let head = 0; head < kvHeads; head += 1) {
          const from = (row * kvHeads + head) * width;
          const to = ((firstRow + row) * kvHeads + head) * this.places * headDim + position * headDim;
          copy(source, from, data, to, tokens * headDim);
        }
      }
    }
  }

  /** Copies the first `tokens` tokens of one row over another. */
  copyRow(from: number, to: number, tokens: number): void {
    const { kvHeads, headDim } = this.shape;
    const headSize = this.places * headDim;
    for (const { data } of this.buffers) {
      for (let head = 0; head < kvHeads; head += 1) {
        const start = from * this.rowSize + head * headSize;
        data.copyWithin(to * this.rowSize + head * headSize, start, start + tokens * headDim);
      }
    }
  }

  /** A cache with room for more tokens that holds the same rows. */
  grown(room: number, rows: number): KvCache {
    const larger = new KvCache({ ...this.shape, room }, this.names);
    larger.places = this.places;
    this.buffers.forEach(({ data }, index) => {
      larger.buffers[index].data.set(data.subarray(0, rows * this.rowSize));
    });
    return larger;
  }

  private get rowSize(): number {
    return this.shape.kvHeads * this.places * this.shape.headDim;
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
