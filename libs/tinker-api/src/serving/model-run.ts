import type { Engine, LossModel, ModelName } from '@ui-rl/plugin-kit';
import { ApiError } from '@ui-rl/openai-api';
import { roleIn, type RunRecord } from './checkpoints';
import { Numbers, Turns } from './turns';

/** A model that a client trains. */
export class ModelRun {
  /** Numbers of its requests; 0 was its creation. */
  readonly numbers = new Numbers();
  readonly turns: Turns;
  lastRequestAt = Date.now();
  /** Number of started requests. */
  requests = 0;
  private ended = false;

  constructor(
    /** Also the name of its weights in the engine. */
    readonly id: ModelName,
    readonly session: string,
    readonly record: RunRecord,
    private readonly created: Promise<unknown>,
    gapMs: number,
  ) {
    this.turns = new Turns(gapMs);
    created.catch(() => undefined);
  }

  get role(): LossModel {
    return roleIn(this.record);
  }

  /** Runs a request in order, once the model exists. */
  run<T>(seqId: number | undefined, work: () => Promise<T>): Promise<T> {
    this.lastRequestAt = Date.now();
    this.requests += 1;
    return this.turns.run(seqId, async () => {
      await this.created;
      this.mustLive();
      return work();
    });
  }

  mustLive(): void {
    if (this.ended)
      throw new ApiError(404, `the model ${this.id} was unloaded`, 'model_not_found', 'model_id');
  }

  /** Waits for work in progress, then removes the model from the engine. */
  async unload(engine: Engine): Promise<void> {
    this.turns.end();
    await this.turns.run(undefined, async () => {
      if (this.ended) return;
      this.ended = true;
      const isThere = await this.created.then(
        () => true,
        () => false,
      );
      if (isThere) await engine.removeModel!(this.id);
    });
  }
}
