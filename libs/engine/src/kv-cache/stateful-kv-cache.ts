import type { Feeds } from '../feeds';
import type { KvCache, KvCacheShape, KvSegment } from './kv-cache';
import type { RowState, RowStates } from './row-states';

/** Tokens with the states after the last of them. */
class StatefulSegment implements KvSegment {
  readonly continuesAnywhere = false;

  constructor(
    readonly inner: KvSegment,
    readonly state: RowState,
  ) {}

  get tokens(): number {
    return this.inner.tokens;
  }

  get bytes(): number {
    return this.inner.bytes + this.state.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  retain(): void {
    this.inner.retain();
  }

  release(): void {
    this.inner.release();
  }
}

/**
 * Keys and values of some layers, and the states of the others after the last token of each row: a row can be copied
 * out as a whole, but not a prefix of it.
 */
export class StatefulKvCache implements KvCache {
  readonly continuesAnywhere = false;

  constructor(
    private readonly inner: KvCache,
    private readonly states: RowStates,
  ) {}

  get shape(): KvCacheShape {
    return this.inner.shape;
  }

  get capacity(): number {
    return this.inner.capacity;
  }

  get fetches(): Record<string, null> {
    return { ...this.inner.fetches, ...this.states.fetches };
  }

  ensureCapacity(tokens: number, rows: number): void {
    this.inner.ensureCapacity(tokens, rows);
  }

  async view(count: number, first = 0): Promise<Feeds> {
    return { ...(await this.inner.view(count, first)), ...this.states.view(count, first) };
  }

  async append(
    outputs: Feeds,
    tokens: readonly number[],
    firstRow: number,
    cached?: readonly number[],
  ): Promise<void> {
    this.states.write(outputs, tokens.length, firstRow);
    await this.inner.append(outputs, tokens, firstRow, cached);
  }

  async extend(outputs: Feeds, positions: readonly number[]): Promise<void> {
    this.states.write(outputs, positions.length, 0);
    await this.inner.extend(outputs, positions);
  }

  copyRow(from: number, to: number, tokens: number): void {
    this.inner.copyRow(from, to, tokens);
    this.states.copyRow(from, to);
  }

  clearRow(row: number): void {
    this.states.clearRow(row);
  }

  async copyOut(row: number, from: number, to: number): Promise<StatefulSegment> {
    const state = this.states.copyOut(row);
    return new StatefulSegment(await this.inner.copyOut(row, from, to), state);
  }

  async copyIn(segment: KvSegment, tokens: number, row: number, position: number): Promise<void> {
    const { inner, state } = segment as StatefulSegment;
    await this.inner.copyIn(inner, tokens, row, position);
    this.states.copyIn(state, row);
  }

  grown(maxLength: number, rows: number): StatefulKvCache {
    return new StatefulKvCache(this.inner.grown(maxLength, rows), this.states);
  }

  clear(): void {
    this.inner.clear();
  }
}
