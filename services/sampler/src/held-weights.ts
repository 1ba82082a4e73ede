import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { BusService } from '@ui-rl/bus';
import type { FailedWeights, SamplerOrders, WantedWeights } from '@ui-rl/contracts';
import type { Engine } from '@ui-rl/plugin-kit';
import { describeError, RETRIES } from '@ui-rl/retry';

/** Age at which an adapter folder counts as left behind by a killed process. */
const LEFT_BEHIND_MS = 3_600_000;

interface Held {
  state: 'loading' | 'held' | 'failed';
  /** Settles when loading has finished; never rejects. */
  settled: Promise<void>;
  message?: string;
}

export interface HeldWeightsParts {
  bus: BusService;
  runId: string;
  engine: Pick<Engine, 'saveWeightsForSampler' | 'releaseWeights'>;
  /** Folder of downloads. */
  cacheDir: string;
}

/** The weights in this sampler's engine, by digest. */
export class HeldWeights {
  private readonly all = new Map<string, Held>();
  private readonly dir: string;

  constructor(private readonly parts: HeldWeightsParts) {
    this.dir = join(parts.cacheDir, 'adapters');
  }

  /** The engine's name of weights; undefined if it does not hold them. */
  nameOf(digest: string): string | undefined {
    return this.all.get(digest)?.state === 'held' ? `sampler ${digest}` : undefined;
  }

  get holds(): string[] {
    return [...this.all].flatMap(([digest, { state }]) => (state === 'held' ? [digest] : []));
  }

  get failed(): FailedWeights[] {
    return [...this.all].flatMap(([digest, { state, message = '' }]) =>
      state === 'failed' ? [{ digest, message }] : [],
    );
  }

  /**
   * Releases weights that are no longer assigned, and loads new ones; resolves when all loads have completed or
   * failed.
   */
  async follow({ wanted, epoch }: Pick<SamplerOrders, 'wanted' | 'epoch'>): Promise<void> {
    const digests = new Set(wanted.map(({ digest }) => digest));
    for (const [digest, { state }] of this.all) {
      if (digests.has(digest) || state === 'loading') continue;
      this.all.delete(digest);
      if (state === 'held') await this.parts.engine.releaseWeights(`sampler ${digest}`);
    }
    for (const weights of wanted) if (!this.all.has(weights.digest)) this.begin(weights, epoch);
    await Promise.all([...this.all.values()].map(({ settled }) => settled));
  }

  /** Removes leftovers of processes that were killed while loading. */
  async sweep(): Promise<void> {
    await mkdir(this.dir, { recursive: true });
    for (const name of await readdir(this.dir)) {
      const path = join(this.dir, name);
      const found = await stat(path).catch(() => undefined);
      if (found !== undefined && Date.now() - found.mtimeMs > LEFT_BEHIND_MS)
        await rm(path, { recursive: true, force: true });
    }
  }

  private begin(weights: WantedWeights, epoch: number): void {
    const { bus } = this.parts;
    const held: Held = { state: 'loading', settled: Promise.resolve() };
    held.settled = this.load(weights, epoch).then(
      () => void (held.state = 'held'),
      (error: unknown) => {
        held.state = 'failed';
        held.message = `could not load it: ${describeError(error)}`;
        bus.logger.warn(`the weights ${weights.digest} cannot be sampled: ${describeError(error)}`);
        const again = (): void =>
          void (this.all.get(weights.digest) === held && this.all.delete(weights.digest));
        setTimeout(again, RETRIES.samplerWeights.firstMs).unref();
      },
    );
    this.all.set(weights.digest, held);
  }

  /** Throws if the weights cannot be fetched, or do not match their digest. */
  private async load({ digest, isBase }: WantedWeights, epoch: number): Promise<void> {
    const { engine } = this.parts;
    const name = `sampler ${digest}`;
    const found = isBase
      ? await engine.saveWeightsForSampler({ model: 'base', name })
      : await this.loadAdapter(digest, epoch, name);
    if (found.digest === digest) return;
    await engine.releaseWeights(name);
    throw new Error(
      `the weights have the digest ${found.digest}, expected ${digest}: is it the same version of ui-rl?`,
    );
  }

  private async loadAdapter(digest: string, epoch: number, name: string): Promise<{ digest: string }> {
    const { bus, runId, engine } = this.parts;
    const dir = join(this.dir, `${bus.instance}-${digest}`);
    try {
      await bus.adapters.download({ runId, epoch, digest }, dir);
      return await engine.saveWeightsForSampler({ model: 'policy', name, dir });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  }
}
