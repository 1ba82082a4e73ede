import { sizeBytesOf, tensor, zeros, type FeedDType, type Tensor } from '@ui-rl/graph';

/**
 * Memory for results of known shapes, used again and again: passes over a deep model would else leave gigabytes of garbage. What two passes in a
 * row had no use for is let go, since few passes have as many tokens as others.
 */
export class TensorPool {
  private readonly free = new Map<string, Tensor[]>();
  /** Shapes of this pass and of the one before. */
  private used = new Set<string>();
  private usedBefore = new Set<string>();

  /** Another pass begins. */
  begin(): void {
    for (const key of this.free.keys())
      if (!this.used.has(key) && !this.usedBefore.has(key)) this.free.delete(key);
    [this.usedBefore, this.used] = [this.used, new Set()];
  }

  /** A tensor with old contents. */
  take(dtype: FeedDType, shape: readonly number[]): Tensor {
    const key = keyOf(dtype, shape);
    this.used.add(key);
    const found = this.free.get(key)?.pop();
    return found === undefined ? zeros(dtype, shape) : tensor(dtype, found.data as never, shape);
  }

  /** Gives back what {@link take} gave. */
  give(used: Tensor): void {
    const key = keyOf(used.type as FeedDType, used.dims);
    const list = this.free.get(key);
    if (list === undefined) this.free.set(key, [used]);
    else list.push(used);
  }

  clear(): void {
    this.free.clear();
    this.used.clear();
    this.usedBefore.clear();
  }
}

function keyOf(dtype: FeedDType, shape: readonly number[]): string {
  return `${dtype} ${shape.reduce((a, b) => a * b, sizeBytesOf(dtype))}`;
}
