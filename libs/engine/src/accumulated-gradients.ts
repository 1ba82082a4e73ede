import { freeTensors, tensor, type DeviceMemory, type Tensor } from '@ui-rl/graph';
import type { WeightSet } from './weights';

/** The gradients of all passes so far by weight name, where the device keeps them. */
export class AccumulatedGradients {
  private constructor(
    private readonly zeros: ReadonlyMap<string, Tensor>,
    private readonly accumulated: Map<string, Tensor>,
  ) {}

  static async create(weights: WeightSet, memory: DeviceMemory): Promise<AccumulatedGradients> {
    const zeros: Record<string, Tensor> = {};
    for (const [name, { data, shape }] of weights.tensors) {
      zeros[name] = tensor('float32', new Float32Array(data.length), shape);
    }
    const kept = new Map(Object.entries(await memory.upload(zeros)));
    return new AccumulatedGradients(kept, new Map(kept));
  }

  get names(): Iterable<string> {
    return this.zeros.keys();
  }

  get(name: string): Tensor {
    return this.accumulated.get(name)!;
  }

  /** Takes what a pass has made of the sum before. */
  replace(name: string, sum: Tensor): void {
    this.drop(name);
    this.accumulated.set(name, sum);
  }

  /** Back to zero. */
  clear(): void {
    for (const [name, zero] of this.zeros) this.replace(name, zero);
  }

  release(): void {
    this.clear();
    freeTensors(this.zeros.values());
  }

  private drop(name: string): void {
    const before = this.accumulated.get(name);
    if (before !== undefined && before !== this.zeros.get(name)) freeTensors([before]);
  }
}
