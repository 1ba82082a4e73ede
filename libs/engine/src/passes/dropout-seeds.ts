import { DROPOUT_SEEDS } from '@ui-rl/models';
import { uniformAt } from '@ui-rl/random';

/** Larger than the number of passes in a step. */
const PASSES = 2 ** 20;

/** Dropout seeds of training passes. A resumed or repeated run gets the same ones. */
export class DropoutSeeds {
  private version = -1;
  private pass = 0;

  constructor(private readonly seed: number) {}

  /** Restarts the count after weights are loaded from a checkpoint. */
  restart(): void {
    this.version = -1;
  }

  /** The seed of the next pass over weights of this version. */
  next(version: number): number {
    this.pass = version === this.version ? this.pass + 1 : 0;
    this.version = version;
    return Math.floor(uniformAt(this.seed, version * PASSES + this.pass) * DROPOUT_SEEDS);
  }
}
