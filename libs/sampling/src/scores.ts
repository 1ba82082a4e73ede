import type { Datum, Engine } from '@ui-rl/plugin-kit';

/**
 * The engine's log-probabilities of texts under the model without adapter, for each token but the first of a text.
 */
export async function baseScores(
  engine: Pick<Engine, 'forward'>,
  texts: readonly (readonly number[])[],
): Promise<number[]> {
  const { logprobs } = await engine.forward({ model: 'base', data: texts.map(datumOf) });
  return logprobs.flatMap((each) => [...each]);
}

function datumOf(tokens: readonly number[]): Datum {
  const targets = tokens.slice(1);
  return {
    modelInput: { chunks: [{ type: 'text', tokens: tokens.slice(0, -1) }] },
    targetTokens: targets,
    weights: targets.map(() => 1),
  };
}

/**
 * Describes the deviation of a sampler's scores; undefined if its model is the learner's. @param tolerance mean
 * difference
 */
export function scoreFault(
  served: readonly number[],
  own: readonly number[],
  tolerance: number,
): string | undefined {
  if (served.length !== own.length)
    return `it has scored ${served.length} tokens of ${own.length}: is it of the same version of ui-rl?`;
  const difference = own.reduce((sum, value, at) => sum + Math.abs(value - served[at]), 0) / own.length;
  if (difference <= tolerance) return undefined;
  const found = `its log-probabilities under the model without adapter differ from the learner's by ${difference.toPrecision(2)} on average`;
  return tolerance === 0
    ? `${found}: training.deterministic needs the same model on the same kind of machine`
    : `${found} (sampler.probe_tolerance ${tolerance}): is its model the one of the run?`;
}
