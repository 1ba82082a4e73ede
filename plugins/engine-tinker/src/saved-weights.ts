import type { Log } from '@ui-rl/plugin-kit';
import type { Connection } from './connection';

interface Saved {
  /** The model that saved them. */
  run: string;
  version: number;
  digest: string;
}

/** Address formats of a service: `tinker://<run>/weights/<name>`, or `…/sampler_weights/<name>`. */
const ADDRESS = /^tinker:\/\/([\w.:-]+)\/((?:sampler_)?weights\/[\w.-]+)$/;

/**
 * Weights stored by the service and their users: names in use for sampling, and checkpoints of the run. Unused
 * weights are deleted from the service.
 */
export class SavedWeights {
  /** Saved for sampling, not yet part of a checkpoint. */
  private readonly temporary = new Map<string, Saved>();
  /** Weights of deleted checkpoints that are still sampled from. */
  private readonly leaving = new Set<string>();
  private deleting: Promise<unknown> = Promise.resolve();
  private readonly ended = new AbortController();

  /** @param isSampled whether weights are sampled from, or a request for them is in progress */
  constructor(
    private readonly connection: Connection,
    private readonly isSampled: (path: string) => boolean,
    private readonly log: Log,
  ) {}

  /** Registers saved weights that are now sampled from. */
  add(path: string, saved: Saved): void {
    this.leaving.delete(path);
    this.temporary.set(path, saved);
  }

  /** The address of the same weights if they were already saved; they now belong to a checkpoint. */
  take(wanted: Saved): string | undefined {
    const found = [...this.temporary].find(
      ([, { run, version, digest }]) =>
        run === wanted.run && version === wanted.version && digest === wanted.digest,
    );
    if (found !== undefined) this.temporary.delete(found[0]);
    return found?.[0];
  }

  /** Called when the checkpoints that referenced these addresses are deleted. */
  leave(paths: readonly string[]): void {
    for (const path of paths) this.leaving.add(path);
    this.tidy();
  }

  /** Deletes unused weights, one after the other. */
  tidy(): void {
    for (const path of [...this.temporary.keys(), ...this.leaving]) {
      if (!this.isSampled(path)) this.delete(path);
    }
  }

  /** Deletes all weights without a checkpoint. @param patience aborts when waiting must stop */
  async close(patience: AbortSignal): Promise<void> {
    patience.addEventListener('abort', () => this.abandon());
    for (const path of [...this.temporary.keys(), ...this.leaving]) this.delete(path);
    await this.deleting;
  }

  /** Stops deleting. */
  abandon(): void {
    this.ended.abort();
  }

  private delete(path: string): void {
    this.temporary.delete(path);
    this.leaving.delete(path);
    const [, run, name] = ADDRESS.exec(path) ?? [];
    // A service with other addresses also has another way to delete.
    if (name === undefined) return;
    const { signal } = this.ended;
    this.deleting = this.deleting
      .then(() => this.connection.delete(`training_runs/${run}/checkpoints/${name}`, signal))
      .catch((error: Error) =>
        this.log('warn', `${path} is not needed any more, and was not deleted: ${error.message}`),
      );
  }
}
