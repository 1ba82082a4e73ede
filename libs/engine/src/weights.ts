import { tensor, type Tensor } from '@ui-rl/graph';
import { tensorsDigest, type FloatTensor } from '@ui-rl/models';

let nextId = 1;

/**
 * The trained weights of one policy version. Sampler and trainer feed the same arrays, without copies. A set that
 * generation or a snapshot may still read is never changed: a training step works on a clone.
 */
export class WeightSet {
  /** Graph inputs, by weight name. */
  readonly feeds: Readonly<Record<string, Tensor>>;
  /** Unique within the process. */
  readonly id = nextId++;
  private digestText: string | undefined;

  constructor(
    readonly version: number,
    readonly tensors: ReadonlyMap<string, FloatTensor>,
  ) {
    this.feeds = Object.fromEntries(
      [...tensors].map(([name, { data, shape }]) => [name, tensor('float32', data, shape)]),
    );
  }

  /** sha256 of the safetensors file these weights are saved as, hex. */
  get digest(): string {
    this.digestText ??= tensorsDigest(this.tensors);
    return this.digestText;
  }

  get parameters(): number {
    let count = 0;
    for (const { data } of this.tensors.values()) count += data.length;
    return count;
  }

  /** A copy to be changed, of the next version. */
  next(): WeightSet {
    const copies = [...this.tensors].map(([name, { shape, data }]): [string, FloatTensor] => [
      name,
      { shape, data: data.slice() },
    ]);
    return new WeightSet(this.version + 1, new Map(copies));
  }
}

/** The weights a graph takes as inputs. */
export function feedsOf(weights: WeightSet, names: readonly string[]): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = {};
  for (const name of names) feeds[name] = weights.feeds[name];
  return feeds;
}
