import { join } from 'node:path';
import type { TrackedCheckpoint, TrackedStep, Tracker } from '@ui-rl/plugin-kit';
import { LinesFile } from './lines-file';

/**
 * `metrics.jsonl` with one line per step, and `checkpoints.jsonl` with one line per kept checkpoint, in the format of
 * Tinker's recipes.
 */
export class RunLines implements Tracker {
  private readonly metrics: LinesFile;
  private readonly checkpoints: LinesFile;

  constructor(dir: string) {
    this.metrics = new LinesFile(join(dir, 'metrics.jsonl'), 'step');
    this.checkpoints = new LinesFile(join(dir, 'checkpoints.jsonl'), 'batch');
  }

  async resume(step: number): Promise<void> {
    await this.metrics.resume(step);
    await this.checkpoints.resume(step);
  }

  step({ step, at, metrics }: TrackedStep): Promise<void> {
    return this.metrics.add({ step, at, ...metrics });
  }

  checkpoint({ step, at, name, path, address }: TrackedCheckpoint): Promise<void> {
    return this.checkpoints.add({ name, batch: step, state_path: path, sampler_path: address, at });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
