import { tensor } from '@ui-rl/graph';
import type { StatePort } from '@ui-rl/models';
import type { Feeds } from '../feeds';

/** The states of a row, one array for each port. */
export type RowState = readonly Float32Array[];

interface Held {
  port: StatePort;
  /** Numbers per row. */
  size: number;
  /** Rows in sequence. */
  data: Float32Array;
}

/** Linear-attention states of each row of a cache, on the host. Rows that were never written are zero. */
export class RowStates {
  private readonly held: Held[];

  constructor(ports: readonly StatePort[]) {
    this.held = ports.map((port) => ({
      port,
      size: port.shape.reduce((a, b) => a * b, 1),
      data: new Float32Array(0),
    }));
  }

  get fetches(): Record<string, null> {
    return Object.fromEntries(this.held.map(({ port }) => [port.next, null]));
  }

  /** The states of `count` rows from `first` on, as session inputs. */
  view(count: number, first: number): Feeds {
    this.ensureRows(first + count);
    return Object.fromEntries(
      this.held.map(({ port, size, data }) => {
        const rows = data.subarray(first * size, (first + count) * size);
        return [port.past, tensor('float32', rows, [count, ...port.shape])];
      }),
    );
  }

  /** Stores the resulting states of `count` rows from `first` on. If `first` is 0, all other rows are dropped. */
  write(outputs: Feeds, count: number, first: number): void {
    if (first > 0) this.ensureRows(first + count);
    for (const held of this.held) {
      const next = outputs[held.port.next].data as Float32Array;
      // Results are copies that this class owns exclusively.
      if (first === 0) held.data = next;
      else held.data.set(next, first * held.size);
    }
  }

  /** Resets a row to hold no tokens. */
  clearRow(row: number): void {
    this.ensureRows(row + 1);
    for (const { size, data } of this.held) data.fill(0, row * size, (row + 1) * size);
  }

  copyRow(from: number, to: number): void {
    for (const { size, data } of this.held) data.copyWithin(to * size, from * size, (from + 1) * size);
  }

  /** A copy of a row's states. */
  copyOut(row: number): RowState {
    return this.held.map(({ size, data }) => data.slice(row * size, (row + 1) * size));
  }

  copyIn(state: RowState, row: number): void {
    this.ensureRows(row + 1);
    this.held.forEach(({ size, data }, index) => data.set(state[index], row * size));
  }

  private ensureRows(rows: number): void {
    for (const held of this.held) {
      if (held.data.length >= rows * held.size) continue;
      const larger = new Float32Array(rows * held.size);
      larger.set(held.data);
      held.data = larger;
    }
  }
}
