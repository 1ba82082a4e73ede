import { tensor, type Tensor } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { capacityFor, type KvCache, type KvCacheShape, type KvNames, type KvSegment } from './kv-cache';

/** Target of a row's tokens in a pass: how many, and the first position in the cache's row. */
interface KvSpan {
  tokens: number;
  position: number;
}

/** Tokens on the host, [kvHeads, tokens, headDim] for each buffer of a cache. */
class HostSegment implements KvSegment {
  readonly continuesAnywhere = true;
  readonly bytes: number;

  constructor(
    readonly tokens: number,
    readonly parts: readonly Float32Array[],
  ) {
    this.bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  // The garbage collector frees it.
  retain(): void {}
  release(): void {}
}

/**
 * A cache on the host with one buffer per layer and kind. Rows are contiguous, so that any range of rows is a tensor
 * over the same memory. Every pass reads the whole capacity, which is most of the memory traffic with many rows. The
 * capacity is therefore no larger than the longest row needs, and grows in place up to the maximum length. Sessions
 * only read the cache: the Node binding copies every result, so a pass returns the additions, which are written here.
 */
export class HostKvCache implements KvCache {
  readonly continuesAnywhere = true;
  private readonly buffers: { names: KvNames; data: Float32Array }[];
  private readonly views = new Map<string, Record<string, Tensor>>();
  private allocated = 0;

  constructor(
    readonly shape: KvCacheShape,
    private readonly names: readonly KvNames[],
  ) {
    const size = shape.rows * shape.kvHeads * shape.maxLength * shape.headDim;
    this.buffers = names.map((each) => ({ names: each, data: new Float32Array(size) }));
  }

  get capacity(): number {
    return this.allocated;
  }

  ensureCapacity(tokens: number, rows: number): void {
    const { kvHeads, headDim, maxLength } = this.shape;
    const capacity = capacityFor(tokens, maxLength);
    if (capacity <= this.allocated) return;
    const [from, to] = [this.allocated * headDim, capacity * headDim];
    for (const { data } of this.buffers) {
      // Backwards, so that nothing is overwritten before it has moved.
      for (let head = rows * kvHeads - 1; head > 0; head -= 1) {
        data.copyWithin(head * to, head * from, (head + 1) * from);
      }
    }
    this.allocated = capacity;
    this.views.clear();
  }

  clear(): void {
    this.allocated = 0;
    this.views.clear();
  }

  view(count: number, first = 0): Promise<Record<string, Tensor>> {
    const key = `${first} ${count}`;
    let view = this.views.get(key);
    if (view === undefined) {
      const { kvHeads, headDim } = this.shape;
      view = {};
      for (const { names, data } of this.buffers) {
        const rows = data.subarray(first * this.rowSize, (first + count) * this.rowSize);
        view[names.past] = tensor('float32', rows, [count, kvHeads, this.allocated, headDim]);
      }
      this.views.set(key, view);
    }
    return Promise.resolve(view);
  }

  get fetches(): Record<string, null> {
    return Object.fromEntries(this.names.map(({ added }) => [added, null]));
  }

  append(
    outputs: Feeds,
    tokens: readonly number[],
    firstRow: number,
    cached?: readonly number[],
  ): Promise<void> {
    this.write(
      outputs,
      firstRow,
      tokens.map((count, row) => ({ tokens: count, position: cached?.[row] ?? 0 })),
    );
    return Promise.resolve();
  }

  extend(outputs: Feeds, positions: readonly number[]): Promise<void> {
    this.write(
      outputs,
      0,
      positions.map((position) => ({ tokens: 1, position })),
    );
    return Promise.resolve();
  }

  private write(outputs: Feeds, firstRow: number, spans: readonly KvSpan[]): void {
    const { kvHeads, headDim } = this.shape;
    for (const { names, data } of this.buffers) {
      const added = outputs[names.added];
      const source = added.data as Float32Array;
      const width = added.dims[2] * headDim;
      for (const [row, { tokens, position }] of spans.entries()) {
        for (let head = 0; head < kvHeads; head += 1) {
          const from = (row * kvHeads + head) * width;
          copy(source, from, data, this.placeOf(firstRow + row, head, position), tokens * headDim);
        }
      }
    }
  }

  copyRow(from: number, to: number, tokens: number): void {
    const { kvHeads, headDim } = this.shape;
    const headSize = this.allocated * headDim;
    for (const { data } of this.buffers) {
      for (let head = 0; head < kvHeads; head += 1) {
        const start = from * this.rowSize + head * headSize;
        data.copyWithin(to * this.rowSize + head * headSize, start, start + tokens * headDim);
      }
    }
  }

  // No pass reads the contents of a row without tokens.
  clearRow(): void {}

  copyOut(row: number, from: number, to: number): Promise<HostSegment> {
    const { kvHeads, headDim } = this.shape;
    const width = (to - from) * headDim;
    const parts = this.buffers.map(({ data }) => {
      const part = new Float32Array(kvHeads * width);
      for (let head = 0; head < kvHeads; head += 1) {
        const start = this.placeOf(row, head, from);
        part.set(data.subarray(start, start + width), head * width);
      }
      return part;
    });
    return Promise.resolve(new HostSegment(to - from, parts));
  }

  copyIn(segment: KvSegment, tokens: number, row: number, position: number): Promise<void> {
    const { kvHeads, headDim } = this.shape;
    const { parts } = segment as HostSegment;
    const width = segment.tokens * headDim;
    this.buffers.forEach(({ data }, buffer) => {
      for (let head = 0; head < kvHeads; head += 1) {
        const from = head * width;
        const part = parts[buffer].subarray(from, from + tokens * headDim);
        data.set(part, this.placeOf(row, head, position));
      }
    });
    return Promise.resolve();
  }

  grown(maxLength: number, rows: number): HostKvCache {
    const larger = new HostKvCache({ ...this.shape, maxLength }, this.names);
    larger.allocated = this.allocated;
    this.buffers.forEach(({ data }, index) => {
      larger.buffers[index].data.set(data.subarray(0, rows * this.rowSize));
    });
    return larger;
  }

  private get rowSize(): number {
    return this.shape.kvHeads * this.allocated * this.shape.headDim;
  }

  /** Offset of a token of a row in a buffer. */
  private placeOf(row: number, head: number, token: number): number {
    return ((row * this.shape.kvHeads + head) * this.allocated + token) * this.shape.headDim;
  }
}

/** For few numbers, a loop is faster than a view. */
function copy(source: Float32Array, from: number, target: Float32Array, to: number, count: number): void {
  if (count > 256) {
    target.set(source.subarray(from, from + count), to);
    return;
  }
  for (let i = 0; i < count; i += 1) target[to + i] = source[from + i];
}
