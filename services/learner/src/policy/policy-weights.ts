import { setImmediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { BusError, failure } from '@ui-rl/bus';
import { parseCheckpointName, stepFolder, type RequestFailure } from '@ui-rl/contracts';
import type { Engine, Sampler, WeightsInfo } from '@ui-rl/plugin-kit';

/** Weights that can be sampled from. */
export interface PolicySnapshot {
  step: number;
  digest: string;
  /** Their name in engine and sampler. */
  weights: string;
}

export interface PolicyWeightsOptions {
  runId: string;
  /** Folder of a checkpoint by its address. @throws BusError */
  locate(name: string): Promise<string>;
  /** Whether samples in progress continue with new weights, if the request allows it. Default false. */
  updatesInFlight?: boolean;
}

/** Number of digests whose step is remembered; older policies cannot be sampling any more. */
const MAX_DIGESTS = 1000;

/** Number of other checkpoints whose weights stay in memory. */
const MAX_LOADED_CHECKPOINTS = 2;

/** The served weights: those of `latest`, and requested checkpoints. */
export class PolicyWeights {
  private active: PolicySnapshot | undefined;
  /** By address. */
  private readonly loaded = new LRUCache<string, Promise<PolicySnapshot>>({
    max: MAX_LOADED_CHECKPOINTS,
    dispose: (loading) => void loading.then(({ weights }) => this.retire(weights)).catch(() => undefined),
  });
  private loads = 0;
  private baseModel: Promise<PolicySnapshot> | undefined;
  /** The latest step at which weights served as `latest`, by their digest. */
  private readonly steps = new LRUCache<string, number>({ max: MAX_DIGESTS });

  constructor(
    private readonly engine: Engine,
    private readonly sampler: Sampler,
    private readonly options: PolicyWeightsOptions,
  ) {}

  get current(): PolicySnapshot {
    if (this.active === undefined) throw new Error('no policy is served yet');
    return this.active;
  }

  /** Publishes the engine's latest weights to the sampler, as those of a step. */
  async publish(step: number): Promise<WeightsInfo> {
    const weights = weightsOf(step);
    const info = await this.engine.saveWeightsForSampler({ model: 'policy', name: weights });
    await this.sampler.publish(weights);
    return info;
  }

  /** Makes published weights `latest`, once they are flushed to disk. */
  async activate(step: number, digest: string): Promise<void> {
    const old = this.active;
    this.active = { step, digest, weights: weightsOf(step) };
    this.steps.set(digest, step);
    if (old !== undefined && old.weights !== this.active.weights) await this.retire(old.weights, this.active);
  }

  /** Whether an answer of `latest` may continue with newer weights. */
  get updatesInFlight(): boolean {
    return this.options.updatesInFlight === true;
  }

  /** The step at which weights served as `latest`. */
  stepOf(digest: string): number {
    const step = this.steps.get(digest);
    if (step === undefined) throw new Error(`no policy of this process had the digest ${digest}`);
    return step;
  }

  /** @param policy `latest`, or the name of a checkpoint */
  async find(policy: string): Promise<PolicySnapshot | { ok: false; error: RequestFailure }> {
    if (policy === 'latest') return this.current;
    const name = parseCheckpointName(policy);
    if (name === undefined) {
      return failure(
        'unknown_policy',
        `"${policy}" is neither "latest" nor a name such as uirl://<run>/sampler_weights/000080`,
      );
    }
    if (name.runId === this.options.runId && name.step === this.current.step) return this.current;
    try {
      return await this.load(policy, name.step);
    } catch (error) {
      if (error instanceof BusError && error.category === 'missing') {
        return failure('unknown_policy', error.message);
      }
      throw error;
    }
  }

  /** The model with its initial weights, without the trained part. */
  base(): Promise<PolicySnapshot> {
    const loading = this.baseModel ?? this.publishBase();
    this.baseModel = loading;
    loading.catch(() => {
      this.baseModel = undefined;
    });
    return loading;
  }

  /**
   * By then, requests that found these weights are sampling with them; they complete normally, or continue with the
   * successor.
   */
  private async retire(weights: string, successor?: PolicySnapshot): Promise<void> {
    await setImmediate();
    if (successor !== undefined && this.updatesInFlight)
      await this.sampler.move?.(weights, successor.weights);
    await this.sampler.retire(weights);
  }

  private load(name: string, step: number): Promise<PolicySnapshot> {
    const known = this.loaded.get(name);
    if (known !== undefined) return known;
    const loading = this.publishCheckpoint(name, step);
    this.loaded.set(name, loading);
    loading.catch(() => {
      if (this.loaded.peek(name) === loading) this.loaded.delete(name);
    });
    return loading;
  }

  private async publishBase(): Promise<PolicySnapshot> {
    const weights = 'base#published';
    const { digest } = await this.engine.saveWeightsForSampler({ model: 'base', name: weights });
    await this.sampler.publish(weights);
    return { step: 0, digest, weights };
  }

  private async publishCheckpoint(name: string, step: number): Promise<PolicySnapshot> {
    const dir = await this.options.locate(name);
    this.loads += 1;
    const weights = `${name}#${this.loads}`;
    const { digest } = await this.engine.saveWeightsForSampler({ model: 'policy', name: weights, dir });
    await this.sampler.publish(weights);
    return { step, digest, weights };
  }
}

function weightsOf(step: number): string {
  return `step-${stepFolder(step)}`;
}
