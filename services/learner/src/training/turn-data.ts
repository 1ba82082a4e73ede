import { promptChunks } from '@ui-rl/models';
import type { Trajectory, Turn } from '@ui-rl/contracts';
import type { Datum, LossInput } from '@ui-rl/plugin-kit';

/** What is wrong with a trajectory that says it is valid; undefined where nothing is. */
export function findDefect(trajectory: Trajectory, imageTokenId: number): string | undefined {
  for (const turn of trajectory.turns) {
    const where = `turn ${turn.index}`;
    const placeholders = turn.promptTokenIds.filter((id) => id === imageTokenId).length;
    if (placeholders !== turn.imageTokens) {
      return `${where} has ${placeholders} image placeholders but ${turn.imageTokens} image features`;
    }
    if (turn.logprobs.length !== turn.tokenIds.length) {
      return `${where} has ${turn.tokenIds.length} tokens but ${turn.logprobs.length} log-probabilities`;
    }
    if (turn.promptTokenIds.length === 0) return `${where} has no prompt`;
  }
  return Number.isFinite(trajectory.reward) ? undefined : `its reward is ${trajectory.reward}`;
}

/** A turn as a sequence of L positions: its prompt and the sampled tokens, but for the last one, which predicts nothing. */
export interface TurnSequence extends Pick<Datum, 'modelInput' | 'targetTokens' | 'temperature'> {
  rolloutId: string;
  turn: Turn;
  length: number;
  /** Position that predicts the first sampled token; the others follow it. */
  first: number;
}

export interface PromptImage {
  sha256: string;
  /** Features, as the prompt shows it. */
  tokens: number;
}

export interface SequenceContext {
  imageTokenId: number;
  /** Images of a prompt by their hashes, in the form in which it shows them. */
  imagesOfPrompt: (hashes: readonly string[]) => Promise<PromptImage[]>;
}

/** The sequence of a turn with sampled tokens. Throws where images and placeholders do not add up. */
export async function sequenceOf(
  { request: { rolloutId } }: Trajectory,
  turn: Turn,
  { imageTokenId, imagesOfPrompt }: SequenceContext,
): Promise<TurnSequence> {
  const { promptTokenIds, tokenIds, promptImages, imageTokens, temperature } = turn;
  const images =
    promptImages.length === 1
      ? [{ sha256: promptImages[0], tokens: imageTokens }]
      : await imagesOfPrompt(promptImages);
  const prompt = promptChunks(promptTokenIds, images, imageTokenId);
  const answer = tokenIds.slice(0, -1);
  const length = promptTokenIds.length + answer.length;
  return {
    rolloutId,
    turn,
    modelInput: { chunks: answer.length === 0 ? prompt : [...prompt, { type: 'text', tokens: answer }] },
    targetTokens: Int32Array.from([...promptTokenIds.slice(1), ...tokenIds]),
    temperature,
    length,
    first: promptTokenIds.length - 1,
  };
}

/** Numbers for sampled tokens [T] at their positions [L]; 0 elsewhere. */
export function atPositions({ length, first }: TurnSequence, perToken: ArrayLike<number>): Float32Array {
  const all = new Float32Array(length);
  all.set(perToken, first);
  return all;
}

/** Of numbers at all positions [L] those of the sampled tokens [T]. */
export function atSampledTokens({ turn, first }: TurnSequence, all: Float32Array): Float32Array {
  return all.subarray(first, first + turn.tokenIds.length);
}

/** A sequence to be scored only. */
export function toScore(sequence: TurnSequence): Datum {
  const { modelInput, targetTokens, temperature, turn } = sequence;
  const weights = atPositions(sequence, new Float32Array(turn.tokenIds.length).fill(1));
  return { modelInput, targetTokens, temperature, weights };
}

/** A sequence to be trained, with what is known of each of its tokens, [T] each. */
export interface TrainedTurn {
  sequence: TurnSequence;
  weights: Float32Array;
  inputs: Partial<Record<LossInput, ArrayLike<number>>>;
  pair?: Datum['pair'];
}

/** @param declared what the loss reads; `inputs` has it */
export function toTrain(trained: TrainedTurn, declared: readonly LossInput[], scope: string): Datum {
  const { sequence, weights, inputs, pair } = trained;
  const { modelInput, targetTokens, temperature, rolloutId } = sequence;
  const lossInputs = declared.map((name): [LossInput, Float32Array] => {
    return [name, atPositions(sequence, inputs[name]!)];
  });
  return {
    modelInput,
    targetTokens,
    temperature,
    weights: atPositions(sequence, weights),
    lossInputs: Object.fromEntries(lossInputs),
    ...(scope === 'token' ? {} : { sequence: rolloutId }),
    ...(pair === undefined ? {} : { pair }),
  };
}
