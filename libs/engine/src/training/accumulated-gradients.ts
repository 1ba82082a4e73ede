import { freeTensors, tensor, type DeviceMemory, type Tensor } from '@ui-rl/graph';
import type { WeightSet } from '../weights/weight-set';

/** The accumulated gradients of all passes by weight name, where the device keeps them. */
export class AccumulatedGradients {
  /** Snapshot to which `attempt` rolls back. */
  private before: ReadonlyMap<string, Tensor> | undefined;

  private constructor(
    private readonly zeros: ReadonlyMap<string, Tensor>,
    private accumulated: Map<string, Tensor>,
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

  /** Replaces a gradient with the sum that includes the pass. */
  replace(name: string, sum: Tensor): void {
    this.drop(name);
    this.accumulated.set(name, sum);
  }

  /** Runs work that adds to the gradients; rolls back if it fails. */
  async attempt<T>(work: () => Promise<T>): Promise<T> {
    const before = new Map(this.accumulated);
    this.before = before;
    try {
      const result = await work();
      this.before = undefined;
      this.freeAllBut(before, this.accumulated);
      return result;
    } catch (error) {
      this.before = undefined;
      this.freeAllBut(this.accumulated, before);
      this.accumulated = before;
      throw error;
    }
  }

  /** Resets all gradients to zero. */
  clear(): void {
    for (const [name, zero] of this.zeros) this.replace(name, zero);
  }

  release(): void {
    this.clear();
    freeTensors(this.zeros.values());
  }

  private drop(name: string): void {
    const sum = this.accumulated.get(name);
    if (sum === undefined || sum === this.zeros.get(name) || sum === this.before?.get(name)) return;
    freeTensors([sum]);
  }

  private freeAllBut(tensors: ReadonlyMap<string, Tensor>, kept: ReadonlyMap<string, Tensor>): void {
    for (const [name, each] of tensors) {
      if (each !== kept.get(name) && each !== this.zeros.get(name)) freeTensors([each]);
    }
  }
}
