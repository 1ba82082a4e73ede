import type { Datum, Engine, ModelInput } from '@ui-rl/plugin-kit';

/** Log-probabilities of the tokens of all probes, one after the other. */
export type Scores = readonly number[];

/** Weights of the engine, and what it says of the probes with them. */
export interface KnownScores {
  name: string;
  scores: Scores;
}

/** What a server says of the probes with an adapter, and what can be held against it. */
export interface Comparison {
  /** The adapter under which the server was asked. */
  adapter: KnownScores;
  served: Scores;
  /** The base model, by the engine and by the server. */
  base: { scores: Scores; served: Scores };
  /** The version before, by the engine and by the server; undefined for the first. */
  before: (KnownScores & { served: Scores }) | undefined;
  /** Largest mean difference that counts as rounding. */
  tolerance: number;
}

/** Below this an engine's numbers differ by rounding. */
const SAME = 1e-5;
/** What a server's numbers change by, as a share of what they should, where they have not changed. */
const UNCHANGED = 0.01;

/** What is wrong with what a server samples, in words; undefined where it is the adapter. */
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

/** What the engine says of the tokens of texts, each token but the first. */
export async function scoresByEngine(
  engine: Engine,
  model: string,
  texts: readonly (readonly number[])[],
): Promise<number[]> {
  const data = texts.map((tokens) => answerDatum({ chunks: [] }, tokens, 1));
  const { logprobs } = await engine.forward({ model, data });
  return logprobs.flatMap((each) => [...each]);
}

/** What the engine says of an answer, sampled after a prompt at a temperature. */
export async function answerByEngine(
  engine: Engine,
  model: string,
  answer: { prompt: ModelInput; tokens: readonly number[]; temperature: number },
): Promise<number[]> {
  const { prompt, tokens, temperature } = answer;
  const { logprobs } = await engine.forward({ model, data: [answerDatum(prompt, tokens, temperature)] });
  return [...logprobs[0].slice(-tokens.length)];
}

/** Tokens after a prompt; after none the first token has nothing to be predicted from. */
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
