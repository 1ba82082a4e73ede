import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Engine, WeightsInfo } from '@ui-rl/plugin-kit';

export const POLICY = 'policy';
export const CRITIC = 'critic';

/**
 * The models that a run trains. A checkpoint contains all of them: the policy, and in a subfolder the critic, if the
 * run has one.
 */
export class RunModels {
  constructor(
    private readonly engine: Engine,
    readonly hasCritic: boolean,
  ) {}

  /**
   * @param dir appears with the policy; it is complete when this resolves @param files additional ones, name → text
   */
  async save(dir: string, files: Readonly<Record<string, string>>): Promise<void> {
    await this.engine.saveState({ model: POLICY, dir, files });
    if (this.hasCritic) await this.engine.saveState({ model: CRITIC, dir: criticIn(dir) });
  }

  /**
   * Restores the models as saved; without `optimizer`, optimizer states are reset. Discards gradients.
   * @returns the policy's weights
   */
  async restore(dir: string, { optimizer }: { optimizer: boolean }): Promise<WeightsInfo> {
    for (const [model] of this.placesIn(dir)) await this.engine.discardGradients(model);
    const policy = await this.engine.loadState({ model: POLICY, dir, optimizer });
    if (this.hasCritic) await this.engine.loadState({ model: CRITIC, dir: criticIn(dir), optimizer });
    return policy;
  }

  /**
   * Starts with the weights of another run, whose checkpoint may have no critic: this run's critic is then new.
   * @returns whether it is new
   */
  async begin(dir: string, { optimizer }: { optimizer: boolean }): Promise<{ newCritic: boolean }> {
    await this.engine.loadState({ model: POLICY, dir, optimizer });
    if (!this.hasCritic) return { newCritic: false };
    if (!(await isThere(criticIn(dir)))) return { newCritic: true };
    await this.engine.loadState({ model: CRITIC, dir: criticIn(dir), optimizer });
    return { newCritic: false };
  }

  /** Called before a checkpoint is deleted. */
  async forget(dir: string): Promise<void> {
    for (const [, own] of this.placesIn(dir)) await this.engine.forgetState?.({ dir: own });
  }

  private placesIn(dir: string): [model: string, dir: string][] {
    return this.hasCritic
      ? [
          [POLICY, dir],
          [CRITIC, criticIn(dir)],
        ]
      : [[POLICY, dir]];
  }
}

function criticIn(dir: string): string {
  return join(dir, CRITIC);
}

function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
