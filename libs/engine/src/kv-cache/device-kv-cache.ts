import { freeTensors } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { capacityFor, type KvCache, type KvCacheShape, type KvNames, type KvSegment } from './kv-cache';
import type { HeldRows, KvSessions } from './kv-sessions';

/** Tokens in device memory, tensors [1, kvHeads, tokens, headDim]. */
class DeviceSegment implements KvSegment {
  readonly continuesAnywhere = true;
  readonly bytes: number;
  private holders = 1;

  constructor(
    readonly tokens: number,
    readonly tensors: Feeds,
  ) {
    this.bytes = Object.values(tensors).reduce((sum, { size }) => sum + 4 * size, 0);
  }

  retain(): void {
    this.holders += 1;
  }

  release(): void {
    this.holders -= 1;
    if (this.holders === 0) freeTensors(Object.values(this.tensors));
  }
}

/**
 * A cache in device memory: keys and values never cross to the host. Moves and copies of rows are only recorded; the
 * next pass that reads them performs all at once.
 */
export class DeviceKvCache implements KvCache {
  readonly continuesAnywhere = true;
  private held: HeldRows | undefined;
  /** Which held row each row refers to. */
  private order: number[] = [];
  private allocated = 0;
  /** Copies of some of the rows for a pass, valid until the cache changes. */
  private viewed: Feeds = {};

  constructor(
    readonly shape: KvCacheShape,
    private readonly names: readonly KvNames[],
    private readonly sessions: KvSessions,
  ) {}

  get capacity(): number {
    return this.allocated;
  }

  get fetches(): Record<string, null> {
    return Object.fromEntries(this.names.map(({ added }) => [added, null]));
  }

  ensureCapacity(tokens: number): void {
    this.allocated = Math.max(this.allocated, capacityFor(tokens, this.shape.maxLength));
  }

  async view(count: number, first = 0): Promise<Feeds> {
    this.freeView();
    const held = await this.inOrder(first + count);
    if (first === 0) return held.tensors;
    const rows = rowsUpTo(count).map((row) => first + row);
    this.viewed = (await this.sessions.copy(held, rows)).tensors;
    return this.viewed;
  }

  async append(
    outputs: Feeds,
    tokens: readonly number[],
    firstRow: number,
    cached?: readonly number[],
  ): Promise<void> {
    const added = this.addedOf(outputs);
    if (cached !== undefined) {
      const before = await this.inOrder(firstRow + tokens.length);
      const spans = tokens.map((count, row) => ({
        row: firstRow + row,
        position: cached[row],
        tokens: count,
      }));
      this.hold(await this.sessions.write(before, added, spans));
      freeTensors(Object.values(added));
      return;
    }
    if (firstRow === 0) this.drop();
    const before = firstRow === 0 ? undefined : await this.inOrder(firstRow);
    this.hold(await this.sessions.append(before, added, tokens.length, this.allocated));
  }

  async extend(outputs: Feeds, positions: readonly number[]): Promise<void> {
    const before = await this.inOrder(positions.length);
    this.hold(await this.sessions.extend(before, this.addedOf(outputs), positions));
  }

  copyRow(from: number, to: number): void {
    this.order[to] = this.order[from];
  }

  // No pass reads the contents of a row without tokens.
  clearRow(): void {}

  async copyOut(row: number, from: number, to: number): Promise<DeviceSegment> {
    const held = await this.inOrder(Math.max(row + 1, this.held?.rows ?? 0));
    return new DeviceSegment(to - from, await this.sessions.cut(held, row, from, to));
  }

  async copyIn(segment: KvSegment, tokens: number, row: number, position: number): Promise<void> {
    const added = this.asAdded((segment as DeviceSegment).tensors);
    if (this.held === undefined) {
      // Later tokens of the new rows overwrite the padding.
      this.hold(await this.sessions.begin(added, this.allocated));
    }
    const before = await this.inOrder(Math.max(row + 1, this.held?.rows ?? 0));
    this.hold(await this.sessions.write(before, added, [{ row, position, tokens }]));
  }

  grown(maxLength: number): DeviceKvCache {
    const larger = new DeviceKvCache({ ...this.shape, maxLength }, this.names, this.sessions);
    larger.held = this.held;
    larger.order = this.order;
    larger.allocated = this.allocated;
    return larger;
  }

  clear(): void {
    this.drop();
    this.allocated = 0;
  }

  private freeView(): void {
    freeTensors(Object.values(this.viewed));
    this.viewed = {};
  }

  private drop(): void {
    this.freeView();
    freeTensors(Object.values(this.held?.tensors ?? {}));
    this.held = undefined;
    this.order = [];
  }

  /** The first `count` rows in order; rows that were never written hold copies of another one. */
  private async inOrder(count: number): Promise<HeldRows> {
    const { held } = this;
    if (held === undefined) throw new Error('the cache holds no rows');
    const order = rowsUpTo(count).map((row) => this.order[row] ?? 0);
    const isInOrder = order.every((from, row) => from === row) && held.rows === count;
    if (isInOrder && held.capacity === this.allocated) return held;
    return this.hold(await this.sessions.arrange(held, order, this.allocated));
  }

  private hold(rows: HeldRows): HeldRows {
    this.freeView();
    this.held = rows;
    this.order = rowsUpTo(rows.rows);
    return rows;
  }

  /** Held tensors under the names of a pass's additions. */
  private asAdded(tensors: Feeds): Feeds {
    return Object.fromEntries(this.names.map(({ past, added }) => [added, tensors[past]]));
  }

  private addedOf(outputs: Feeds): Feeds {
    return Object.fromEntries(this.names.map(({ added }) => [added, outputs[added]]));
  }
}

function rowsUpTo(count: number): number[] {
  return Array.from({ length: count }, (_, row) => row);
}
