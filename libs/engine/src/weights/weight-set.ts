import { freeTensors, tensor, type DeviceMemory, type Tensor } from '@ui-rl/graph';
import { tensorsDigest, type FloatTensor } from '@ui-rl/models';
import type { Feeds } from '../feeds';
import { memoize } from '../memoize';

let nextId = 1;

/**
 * The trained weights of one policy version, on the host and, once used, in device memory. Sampler and trainer feed
 * the same tensors, without copies. A set that generation or a snapshot may still read is never changed: a training
 * step creates a new one.
 */
export class WeightSet {
  /** Unique within the process. */
  readonly id = nextId++;
  private digestText: string | undefined;
  private readonly derived = new Map<object, Promise<Feeds>>();

  constructor(
    readonly version: number,
    readonly tensors: ReadonlyMap<string, FloatTensor>,
  ) {}

  /** For a model with frozen weights only. */
  static none(): WeightSet {
    return new WeightSet(0, new Map());
  }

  /** Hex sha256 of the safetensors file that these weights are saved as. */
  get digest(): string {
    this.digestText ??= tensorsDigest(this.tensors);
    return this.digestText;
  }

  get parameters(): number {
    let count = 0;
    for (const { data } of this.tensors.values()) count += data.length;
    return count;
  }

  /** A mutable copy on the host, with the next version. */
  next(): WeightSet {
    const copies = [...this.tensors].map(([name, { shape, data }]): [string, FloatTensor] => [
      name,
      { shape, data: data.slice() },
    ]);
    return new WeightSet(this.version + 1, new Map(copies));
  }

  /** Graph inputs by weight name, in device memory. */
  feeds(memory: DeviceMemory): Promise<Feeds> {
    return this.derive(memory, () => memory.upload(this.onHost()));
  }

  /** Registers tensors that already hold the weights in device memory, by input name. */
  liesIn(memory: DeviceMemory, feeds: Feeds): void {
    this.derived.set(memory, Promise.resolve(feeds));
  }

  /** Values that `owner` derives from these weights for its graphs: computed once and kept with the set. */
  derive(owner: object, make: () => Promise<Feeds>): Promise<Feeds> {
    return memoize(this.derived, owner, make);
  }

  /** Frees the device memory. Using the set afterwards uploads it again. */
  async free(): Promise<void> {
    const derived = [...this.derived.values()];
    this.derived.clear();
    for (const made of await Promise.allSettled(derived)) {
      if (made.status === 'fulfilled') freeTensors(Object.values(made.value));
    }
  }

  private onHost(): Record<string, Tensor> {
    const entries = [...this.tensors].map(([name, { data, shape }]): [string, Tensor] => {
      return [name, tensor('float32', data, shape)];
    });
    return Object.fromEntries(entries);
  }
}

/** The weights that a graph takes as inputs. */
export async function feedsOf(
  weights: WeightSet,
  memory: DeviceMemory,
  names: readonly string[],
): Promise<Record<string, Tensor>> {
  const all = await weights.feeds(memory);
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}
