import { DROPOUT_SEEDS } from '@ui-rl/models';
import { uniformAt } from '@ui-rl/random';

/** More passes than a step has. */
const PASSES = 2 ** 20;

/** A seed for the dropout of every training pass. A run that is resumed or repeated gives the same ones. */
export class DropoutSeeds {
  private version = -1;
  private pass = 0;

  constructor(private readonly seed: number) {}

  /** The next pass is the first over its weights: those of a checkpoint, over which there may have been passes before. */
  restart(): void {
    this.version = -1;
  }

  /** The seed of the next pass over weights of that version. */
  next(version: number): number {
    this.pass = version === this.version ? this.pass + 1 : 0;
    this.version = version;
    return Math.floor(uniformAt(this.seed, version * PASSES + this.pass) * DROPOUT_SEEDS);
  }
}
