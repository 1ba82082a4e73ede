import type { Turn } from '@ui-rl/contracts';
import type { TurnSequence } from './turn-data';

/** Log-probabilities [T] of sampled tokens, by turn. */
export type LogprobsByTurn = ReadonlyMap<Turn, Float32Array>;

/** The base model's log-probabilities (adapter off) of a batch's turns; each turn is scored once, on demand. */
export class ReferenceLogprobs {
  private readonly known = new Map<Turn, Float32Array>();

  constructor(private readonly score: (sequences: readonly TurnSequence[]) => Promise<LogprobsByTurn>) {}

  /** Of these turns, and of those requested before. */
  async of(sequences: readonly TurnSequence[]): Promise<LogprobsByTurn> {
    const missing = sequences.filter(({ turn }) => !this.known.has(turn));
    for (const [turn, logprobs] of await this.score(missing)) this.known.set(turn, logprobs);
    return this.known;
  }
}
