import { freeTensors } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { capacityFor, type KvCache, type KvCacheShape, type KvNames } from './kv-cache';
import type { HeldRows, KvSessions } from './kv-sessions';

/**
 * A cache in the memory of a device: keys and values do not cross the host. Where rows lie is only noted down while they are moved
 * and copied; the next pass that reads them brings all into order at once.
 */
export class DeviceKvCache implements KvCache {
  private held: HeldRows | undefined;
  /** Which of the held rows each row is. */
  private order: number[] = [];
  private allocated = 0;

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

  async view(count: number): Promise<Feeds> {
    return (await this.inOrder(count)).tensors;
  }

  async append(outputs: Feeds, tokens: readonly number[], firstRow: number): Promise<void> {
    if (firstRow === 0) this.drop();
    const before = firstRow === 0 ? undefined : await this.inOrder(firstRow);
    this.hold(await this.sessions.append(before, this.addedOf(outputs), tokens.length, this.allocated));
  }

  async extend(outputs: Feeds, positions: readonly number[]): Promise<void> {
    const before = await this.inOrder(positions.length);
    this.hold(await this.sessions.extend(before, this.addedOf(outputs), positions));
  }

  copyRow(from: number, to: number): void {
    this.order[to] = this.order[from];
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

  private drop(): void {
    freeTensors(Object.values(this.held?.tensors ?? {}));
    this.held = undefined;
    this.order = [];
  }

  /** The first `count` rows one below the other; rows that nothing was written to hold what another one does. */
  private async inOrder(count: number): Promise<HeldRows> {
    const { held } = this;
    if (held === undefined) throw new Error('the cache holds no rows');
    const order = rowsUpTo(count).map((row) => this.order[row] ?? 0);
    const isInOrder = order.every((from, row) => from === row) && held.rows === count;
    if (isInOrder && held.capacity === this.allocated) return held;
    return this.hold(await this.sessions.arrange(held, order, this.allocated));
  }

  private hold(rows: HeldRows): HeldRows {
    this.held = rows;
    this.order = rowsUpTo(rows.rows);
    return rows;
  }

  private addedOf(outputs: Feeds): Feeds {
    return Object.fromEntries(this.names.map(({ added }) => [added, outputs[added]]));
  }
}

function rowsUpTo(count: number): number[] {
  return Array.from({ length: count }, (_, row) => row);
}
