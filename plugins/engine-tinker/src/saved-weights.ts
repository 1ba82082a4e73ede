import type { Log } from '@ui-rl/plugin-kit';
import type { Connection } from './connection';

interface Saved {
  /** The model that saved them. */
  run: string;
  version: number;
  digest: string;
}

/** Where a service keeps weights: `tinker://<run>/weights/<name>`, or `…/sampler_weights/<name>`. */
const ADDRESS = /^tinker:\/\/([\w.:-]+)\/((?:sampler_)?weights\/[\w.-]+)$/;

/**
 * Weights that lie with the service, and who needs them: names that are sampled from, and checkpoints of the run. What neither needs is deleted
 * there.
 */
export class SavedWeights {
  /** Saved to be sampled from, which no checkpoint has taken over. */
  private readonly temporary = new Map<string, Saved>();
  /** Of checkpoints that are gone, while they are sampled from. */
  private readonly leaving = new Set<string>();
  private deleting: Promise<unknown> = Promise.resolve();
  private readonly ended = new AbortController();

  /** @param isSampled whether weights are sampled from, or a request for them is in progress */
  constructor(
    private readonly connection: Connection,
    private readonly isSampled: (path: string) => boolean,
    private readonly log: Log,
  ) {}

  /** Weights were saved that are sampled from by now. */
  add(path: string, saved: Saved): void {
    this.leaving.delete(path);
    this.temporary.set(path, saved);
  }

  /** Where these very weights of that model were saved already, for a checkpoint, which has them from now on. */
  take(wanted: Saved): string | undefined {
    const found = [...this.temporary].find(
      ([, { run, version, digest }]) =>
        run === wanted.run && version === wanted.version && digest === wanted.digest,
    );
    if (found !== undefined) this.temporary.delete(found[0]);
    return found?.[0];
  }

  /** Checkpoints that named these are gone. */
  leave(paths: readonly string[]): void {
    for (const path of paths) this.leaving.add(path);
    this.tidy();
  }

  /** Deletes what nobody needs any more, one after the other. */
  tidy(): void {
    for (const path of [...this.temporary.keys(), ...this.leaving]) {
      if (!this.isSampled(path)) this.delete(path);
    }
  }

  /** Deletes all that no checkpoint has. @param patience aborted once nothing is to be waited for */
  async close(patience: AbortSignal): Promise<void> {
    patience.addEventListener('abort', () => this.abandon());
    for (const path of [...this.temporary.keys(), ...this.leaving]) this.delete(path);
    await this.deleting;
  }

  /** Deletes nothing any more. */
  abandon(): void {
    this.ended.abort();
  }

  private delete(path: string): void {
    this.temporary.delete(path);
    this.leaving.delete(path);
    const [, run, name] = ADDRESS.exec(path) ?? [];
    // A service that names weights in another way has another way to delete them.
    if (name === undefined) return;
    const { signal } = this.ended;
    this.deleting = this.deleting
      .then(() => this.connection.delete(`training_runs/${run}/checkpoints/${name}`, signal))
      .catch((error: Error) =>
        this.log('warn', `${path} is not needed any more, and was not deleted: ${error.message}`),
      );
  }
}
