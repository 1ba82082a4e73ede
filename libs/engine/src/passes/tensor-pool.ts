import { sizeBytesOf, tensor, zeros, type FeedDType, type Tensor } from '@ui-rl/graph';

/**
 * Reusable memory for results of known shapes: passes over a deep model would otherwise leave gigabytes of garbage.
 * Tensors that two consecutive passes did not use are released, because passes rarely have the same number of tokens.
 */
export class TensorPool {
  private readonly free = new Map<string, Tensor[]>();
  /** Shapes of this pass and of the previous one. */
  private used = new Set<string>();
  private usedBefore = new Set<string>();

  /** Starts the next pass. */
  begin(): void {
    for (const key of this.free.keys())
      if (!this.used.has(key) && !this.usedBefore.has(key)) this.free.delete(key);
    [this.usedBefore, this.used] = [this.used, new Set()];
  }

  /** A tensor with stale contents. */
  take(dtype: FeedDType, shape: readonly number[]): Tensor {
    const key = keyOf(dtype, shape);
    this.used.add(key);
    const found = this.free.get(key)?.pop();
    return found === undefined ? zeros(dtype, shape) : tensor(dtype, found.data as never, shape);
  }

  /** Returns a tensor from {@link take}. */
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
