import type { Turn } from '@ui-rl/contracts';
import type { Engine } from '@ui-rl/plugin-kit';
import { atSampledTokens, toScore, type TurnSequence } from './turn-data';

/** Log-probabilities [T] of sampled tokens, by turn. */
export type LogprobsByTurn = ReadonlyMap<Turn, Float32Array>;

/** Log-probabilities of the sampled tokens of each turn under a model. */
export async function scoreTurns(
  engine: Engine,
  model: string,
  sequences: readonly TurnSequence[],
): Promise<LogprobsByTurn> {
  if (sequences.length === 0) return new Map();
  const { logprobs } = await engine.forward({ model, data: sequences.map(toScore) });
  return new Map(
    sequences.map((sequence, index) => [sequence.turn, atSampledTokens(sequence, logprobs[index])]),
  );
}

/** A batch's turns under another model than the policy; each turn is scored once, on demand. */
export class TurnLogprobs {
  private readonly known = new Map<Turn, Float32Array>();

  constructor(private readonly score: (sequences: readonly TurnSequence[]) => Promise<LogprobsByTurn>) {}

  /** Of these turns, and of those requested before. */
  async of(sequences: readonly TurnSequence[]): Promise<LogprobsByTurn> {
    const missing = sequences.filter(({ turn }) => !this.known.has(turn));
    for (const [turn, logprobs] of await this.score(missing)) this.known.set(turn, logprobs);
    return this.known;
  }
}
