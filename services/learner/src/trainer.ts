import type { Engine, TrainSample } from '@ui-rl/engine';
import { learningRateAt } from '@ui-rl/graph';
import type { Group } from './groups';
import type { ImageStore } from './image-store';
import type { LearnerOptions } from './options';
import { advantagesOf, samplesOf, hasLearningSignal } from './samples';
import { joinSubsteps } from './step-metrics';

export interface BatchResult {
  metrics: Record<string, number>;
  /** Digest of the weights now. */
  digest: string;
  tokens: number;
}

/** Trains a batch of groups: one optimizer step, or several over parts of the batch. */
export class BatchTrainer {
  constructor(
    private readonly engine: Engine,
    private readonly images: ImageStore,
    private readonly options: LearnerOptions,
  ) {}

  /** @param step batches trained before */
  async train(groups: readonly Group[], step: number, digest: string): Promise<BatchResult> {
    const { selection, substeps } = this.options;
    const learningRate = learningRateAt(this.options.learningRate, step);
    const results: Record<string, number>[] = [];
    let [newest, tokens] = [digest, 0];
    for (const part of split(groups, substeps)) {
      if (!part.some(({ rewards }) => hasLearningSignal(rewards, selection))) continue;
      const samples = (await Promise.all(part.map((group) => this.samplesOfGroup(group)))).flat();
      if (samples.length === 0) continue;
      const result = await this.engine.trainStep({
        samples,
        loss: this.options.loss,
        learningRate,
        maxGradNorm: this.options.maxGradNorm,
        minibatches: this.options.minibatches,
      });
      results.push(result.metrics);
      newest = result.digest;
      tokens += result.metrics['optim/tokens'] ?? 0;
    }
    const metrics = { ...joinSubsteps(results), 'optim/lr': learningRate, 'optim/substeps': results.length };
    return { metrics, digest: newest, tokens };
  }

  private async samplesOfGroup(group: Group): Promise<TrainSample[]> {
    const advantages = advantagesOf(group.rewards, this.options.selection);
    const samples: TrainSample[] = [];
    for (const [index, trajectory] of group.trajectories.entries()) {
      const advantage = advantages[index];
      if (advantage === null) continue;
      samples.push(...(await samplesOf(trajectory, advantage, (hashes) => this.images.ofPrompt(hashes))));
    }
    return samples;
  }
}

/** Parts of nearly equal size, in order; never an empty one. */
export function split<T>(items: readonly T[], parts: number): T[][] {
  const count = Math.min(parts, items.length);
  return Array.from({ length: count }, (_, part) =>
    items.slice(Math.floor((part * items.length) / count), Math.floor(((part + 1) * items.length) / count)),
  );
}
