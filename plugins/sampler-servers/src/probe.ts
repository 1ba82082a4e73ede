import type { Datum, Engine, ModelInput } from '@ui-rl/plugin-kit';

/** Log-probabilities of the tokens of all probes, concatenated. */
export type Scores = readonly number[];

/** Weights of the engine, and its probe scores with them. */
export interface KnownScores {
  name: string;
  scores: Scores;
}

/** A server's probe scores with an adapter, and the scores to compare with. */
export interface Comparison {
  /** The engine's scores of the adapter. */
  adapter: KnownScores;
  served: Scores;
  /** Scores of the base model, by the engine and by the server. */
  base: { scores: Scores; served: Scores };
  /** Scores of the previous version, by the engine and by the server; undefined for the first version. */
  before: (KnownScores & { served: Scores }) | undefined;
  /** Maximum mean difference that counts as rounding. */
  tolerance: number;
}

/** Differences of the engine's scores below this are rounding. */
const SAME = 1e-5;
/** Ratio of the server's score change to the expected change below which the adapter has no effect. */
const UNCHANGED = 0.01;

/** Describes what the server samples instead of the adapter; undefined if it samples the adapter. */
export function faultOf(comparison: Comparison): string | undefined {
  const { adapter, served, base, before, tolerance } = comparison;
  const others = [
    { ...base, name: 'the base model', advice: 'the adapter is loaded and does nothing' },
    ...(before === undefined ? [] : [{ ...before, advice: 'an older adapter is sampled' }]),
  ];
  const distance = meanDifference(served, adapter.scores);
  for (const other of others) {
    const expected = meanDifference(adapter.scores, other.scores);
    if (expected < SAME) continue;
    const unchanged = meanDifference(served, other.served) < UNCHANGED * expected;
    const nearer = meanDifference(served, other.scores) < 0.5 * distance && distance > SAME;
    if (unchanged || nearer) {
      return `its log-probabilities are those of ${other.name}, from which the adapter's differ by ${digits(expected)} on average: ${other.advice}`;
    }
  }
  if (distance <= tolerance) return undefined;
  return `its log-probabilities differ from the engine's by ${digits(distance)} on average (tolerance ${tolerance}), and are those of no weights known here: is its model the one of the run, in the same type?`;
}

export function meanDifference(one: Scores, other: Scores): number {
  return one.reduce((sum, value, place) => sum + Math.abs(value - other[place]), 0) / one.length;
}

export function digits(value: number): string {
  return value.toPrecision(2);
}

/** The engine's log-probabilities of texts, for each token but the first. */
export async function scoresByEngine(
  engine: Engine,
  model: string,
  texts: readonly (readonly number[])[],
): Promise<number[]> {
  const data = texts.map((tokens) => answerDatum({ chunks: [] }, tokens, 1));
  const { logprobs } = await engine.forward({ model, data });
  return logprobs.flatMap((each) => [...each]);
}

/** The engine's log-probabilities of an answer, sampled after a prompt at a temperature. */
export async function answerByEngine(
  engine: Engine,
  model: string,
  answer: { prompt: ModelInput; tokens: readonly number[]; temperature: number },
): Promise<number[]> {
  const { prompt, tokens, temperature } = answer;
  const { logprobs } = await engine.forward({ model, data: [answerDatum(prompt, tokens, temperature)] });
  return [...logprobs[0].slice(-tokens.length)];
}

/** Tokens after a prompt; without a prompt, the first token has no context to be predicted from. */
function answerDatum({ chunks }: ModelInput, tokens: readonly number[], temperature: number): Datum {
  const before = chunks.reduce(
    (sum, chunk) => sum + (chunk.type === 'image' ? chunk.tokens : chunk.tokens.length),
    0,
  );
  const read = { type: 'text' as const, tokens: tokens.slice(0, -1) };
  const targets = before === 0 ? tokens.slice(1) : tokens;
  const untrained = Math.max(0, before - 1);
  return {
    modelInput: { chunks: read.tokens.length === 0 ? chunks : [...chunks, read] },
    targetTokens: [...new Array<number>(untrained).fill(0), ...targets],
    weights: [...new Array<number>(untrained).fill(0), ...targets.map(() => 1)],
    temperature,
  };
}
