import { IsIn } from 'class-validator';
import { Doc, type CorrectionInput } from '@ui-rl/plugin-kit';

const LEVELS = ['token', 'turn', 'turn-mean', 'episode', 'episode-mean'] as const;

/** Options for the unit of the probability ratio between trainer and sampler. */
export class RatioOptions {
  @Doc(
    'scope of a ratio: a token; or all tokens of a turn or an episode, as their product or (-mean) geometric mean',
  )
  @IsIn(LEVELS)
  importance_ratio_of: (typeof LEVELS)[number] = 'token';
}

/** π_prox / π_sample for the tokens of each turn; tokens of the same unit share a ratio. */
export function importanceRatios(
  turns: readonly CorrectionInput[],
  { importance_ratio_of: level }: RatioOptions,
): Float64Array[] {
  const logRatios = turns.map(({ sampleLogprobs, proximalLogprobs }) =>
    Float64Array.from(proximalLogprobs, (proximal, token) => proximal - sampleLogprobs[token]),
  );
  if (level === 'token') return logRatios.map((own) => own.map(Math.exp));
  const isMean = level.endsWith('-mean');
  const units = level.startsWith('turn') ? logRatios.map((own) => [own]) : [logRatios];
  return units.flatMap((unit) => {
    const ratio = joint(unit, isMean);
    return unit.map((own) => own.map(() => ratio));
  });
}

/** The product of all ratios, or their geometric mean. */
function joint(logRatios: readonly Float64Array[], isMean: boolean): number {
  let [sum, tokens] = [0, 0];
  for (const own of logRatios) {
    for (const each of own) sum += each;
    tokens += own.length;
  }
  return Math.exp(isMean ? sum / Math.max(1, tokens) : sum);
}
