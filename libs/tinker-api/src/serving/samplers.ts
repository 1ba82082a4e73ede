import { ApiError } from '@ui-rl/openai-api';
import type { Engine, ModelName } from '@ui-rl/plugin-kit';
import { addressText, mustSample, roleIn, type CheckpointAddress, type CheckpointStore } from './checkpoints';
import { loraOptions } from './lora';
import type { SamplingSession } from './sessions';

/** Sampled weights, and how to release them. */
interface Open {
  ready: Promise<void>;
  isModel: boolean;
}

/**
 * Weights to sample from, by name. The engine holds the most recent ones in memory; those with a folder are reloaded
 * on demand.
 */
export class Samplers {
  /** Least recently used first. */
  private readonly open = new Map<ModelName, Open>();

  /** @param most maximum number held at a time */
  constructor(
    private readonly engine: Engine,
    private readonly store: CheckpointStore,
    private readonly most: number,
  ) {}

  /** Stores the latest weights of a model under a name. */
  async keep(model: ModelName, name: string): Promise<void> {
    const saved = this.engine.saveWeightsForSampler({ model, name });
    await this.add(name, { ready: saved.then(() => undefined), isModel: false });
  }

  /** The name of held weights. @throws ApiError 410 if they were released */
  held(name: string): ModelName {
    const found = this.open.get(name);
    if (found === undefined) {
      throw new ApiError(
        410,
        `the weights of this sampling session were let go: the newest ${this.most} are held; give those that are sampled from for longer a name (save_weights_for_sampler)`,
        'sampler_expired',
      );
    }
    this.use(name, found);
    return name;
  }

  /** The name under which saved weights can be sampled from. @throws ApiError 404 if they do not exist */
  async at(address: CheckpointAddress): Promise<ModelName> {
    const name = addressText(address);
    const known = this.open.get(name);
    if (known !== undefined) {
      this.use(name, known);
      await known.ready;
      return name;
    }
    const { dir, run } = await this.store.open(address);
    mustSample(roleIn(run), 'model_path', name);
    const lora = loraOptions(run.lora);
    const raced = this.open.get(name);
    if (raced === undefined) {
      const trainable = { mode: 'lora' as const, lora, adapterDir: dir };
      const added = this.engine.addModel!({ name, role: 'policy', trainable, seed: 0 });
      await this.add(name, { ready: added.then(() => undefined), isModel: true });
    } else await raced.ready;
    return name;
  }

  /** Releases the weights of a sampling session that has ended, if it was their only user. */
  async endOf(ended: SamplingSession | undefined): Promise<void> {
    if (ended?.source.kind === 'held') await this.release(ended.source.name);
  }

  /** Releases weights if they are held. */
  async release(name: string): Promise<void> {
    const found = this.open.get(name);
    if (found === undefined) return;
    this.open.delete(name);
    await found.ready.catch(() => undefined);
    await (found.isModel ? this.engine.removeModel!(name) : this.engine.releaseWeights(name));
  }

  private use(name: string, found: Open): void {
    this.open.delete(name);
    this.open.set(name, found);
  }

  private async add(name: string, added: Open): Promise<void> {
    // Registered already: the engine has replaced the weights with that name.
    this.use(name, added);
    try {
      await added.ready;
    } catch (error) {
      if (this.open.get(name) === added) this.open.delete(name);
      throw error;
    }
    while (this.open.size > this.most) await this.release(this.open.keys().next().value!);
  }
}
