import { sizeBytesOf, tensor, zeros, type FeedDType, type Tensor } from '@ui-rl/graph';

/** Memory for results of known shapes, used again and again: passes over a deep model would else leave gigabytes of garbage. */
export class TensorPool {
  private readonly free = new Map<string, Tensor[]>();

  /** A tensor with old contents. */
  take(dtype: FeedDType, shape: readonly number[]): Tensor {
    const found = this.free.get(keyOf(dtype, shape))?.pop();
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
  }
}

function keyOf(dtype: FeedDType, shape: readonly number[]): string {
  return `${dtype} ${shape.reduce((a, b) => a * b, sizeBytesOf(dtype))}`;
}
