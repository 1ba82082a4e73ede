import { promptChunks } from '@ui-rl/models';
import { decodeKeptTokens, type Trajectory, type Turn } from '@ui-rl/contracts';
import type { Datum, LossInput } from '@ui-rl/plugin-kit';
import { spanDefect } from './staleness';

/** Token limits of a model. */
export interface TokenLimits {
  /** Upper bound (exclusive) of token ids. */
  vocabSize: number;
  imageTokenId: number;
}

/** Describes the fault of a trajectory that claims to be valid; undefined if there is none. */
export function findDefect({ turns, reward, rewards }: Trajectory, limits: TokenLimits): string | undefined {
  for (const turn of turns) {
    const defect = defectOfTurn(turn, limits);
    if (defect !== undefined) return `turn ${turn.index} ${defect}`;
  }
  const paid = { reward, ...rewards };
  const bad = Object.entries(paid).find(([, value]) => !isFloat32(value));
  return (
    bad && `its reward${bad[0] === 'reward' ? '' : ` "${bad[0]}"`} is ${bad[1]}, expected a number of 32 bits`
  );
}

function defectOfTurn(turn: Turn, { vocabSize, imageTokenId }: TokenLimits): string | undefined {
  const { promptTokenIds, tokenIds, logprobs, imageTokens, reward = 0 } = turn;
  const placeholders = promptTokenIds.filter((id) => id === imageTokenId).length;
  if (placeholders !== imageTokens) {
    return `has ${placeholders} image placeholders but ${imageTokens} image features`;
  }
  if (logprobs.length !== tokenIds.length) {
    return `has ${tokenIds.length} tokens but ${logprobs.length} log-probabilities`;
  }
  const spans = spanDefect(turn);
  if (spans !== undefined) return spans;
  if (promptTokenIds.length === 0) return 'has no prompt';
  const unknown = [...promptTokenIds, ...tokenIds].find((id) => id < 0 || id >= vocabSize);
  if (unknown !== undefined) return `has token ${unknown}, the model knows 0 to ${vocabSize - 1}`;
  const cut = defectOfCut(turn, vocabSize);
  if (cut !== undefined) return cut;
  const improbable = logprobs.find((logprob) => !isFloat32(logprob));
  if (improbable !== undefined) return `has the log-probability ${improbable}, expected a number of 32 bits`;
  return isFloat32(reward) ? undefined : `has the reward ${reward}, expected a number of 32 bits`;
}

function defectOfCut({ keptTokens, tokenIds }: Turn, vocabSize: number): string | undefined {
  if (keptTokens === undefined) return undefined;
  try {
    const kept = decodeKeptTokens(keptTokens, tokenIds.length);
    const bad = kept.findIndex(
      (ids, token) => ids.length > 0 && (!ids.includes(tokenIds[token]) || ids[ids.length - 1] >= vocabSize),
    );
    return bad < 0 ? undefined : `has token ${tokenIds[bad]}, which is not among those it was drawn from`;
  } catch (error) {
    return `cannot be read: ${(error as Error).message}`;
  }
}

/** Whether a number is representable in float32, in which training computes. */
function isFloat32(value: number): boolean {
  return Number.isFinite(Math.fround(value));
}

/**
 * A turn as a sequence of L positions: its prompt and the sampled tokens, without the last one, which predicts
 * nothing.
 */
export interface TurnSequence extends Pick<
  Datum,
  'modelInput' | 'targetTokens' | 'temperature' | 'keptTokens'
> {
  rolloutId: string;
  turn: Turn;
  length: number;
  /** Position that predicts the first sampled token; the others follow it. */
  first: number;
}

export interface PromptImage {
  sha256: string;
  /** Number of features in the prompt's form of the image. */
  tokens: number;
}

export interface SequenceContext {
  imageTokenId: number;
  /** Images of a prompt by their hashes, in the form in which it shows them. */
  imagesOfPrompt: (hashes: readonly string[]) => Promise<PromptImage[]>;
}

/** The sequence of a turn with sampled tokens. Throws if images and placeholders do not match. */
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
    ...keptAt(turn, length),
    length,
    first: promptTokenIds.length - 1,
  };
}

/** Kept tokens of a turn's cut distributions, by position. */
function keptAt({ keptTokens, promptTokenIds, tokenIds }: Turn, length: number): Pick<Datum, 'keptTokens'> {
  if (keptTokens === undefined) return {};
  const none = new Int32Array(0);
  const kept = new Array<Int32Array>(length).fill(none);
  kept.splice(promptTokenIds.length - 1, tokenIds.length, ...decodeKeptTokens(keptTokens, tokenIds.length));
  return { keptTokens: kept };
}

/** Numbers for sampled tokens [T] at their positions [L]; 0 elsewhere. */
export function atPositions({ length, first }: TurnSequence, perToken: ArrayLike<number>): Float32Array {
  const all = new Float32Array(length);
  all.set(perToken, first);
  return all;
}

/** The numbers [L] at the positions of the sampled tokens [T]. */
export function atSampledTokens({ turn, first }: TurnSequence, all: Float32Array): Float32Array {
  return all.subarray(first, first + turn.tokenIds.length);
}

/** A sequence for scoring only. */
export function toScore(sequence: TurnSequence): Datum {
  const { modelInput, targetTokens, temperature, keptTokens, turn } = sequence;
  const weights = atPositions(sequence, new Float32Array(turn.tokenIds.length).fill(1));
  return { modelInput, targetTokens, temperature, weights, ...(keptTokens && { keptTokens }) };
}

/** A sequence to train on, with data for each of its tokens, [T] each. */
export interface TrainedTurn {
  sequence: TurnSequence;
  weights: Float32Array;
  inputs: Partial<Record<LossInput, ArrayLike<number>>>;
  pair?: Datum['pair'];
}

/** @param declared inputs of the loss, which `inputs` contains */
export function toTrain(trained: TrainedTurn, declared: readonly LossInput[], scope: string): Datum {
  const { sequence, weights, inputs, pair } = trained;
  const { modelInput, targetTokens, temperature, keptTokens, rolloutId } = sequence;
  const lossInputs = declared.map((name): [LossInput, Float32Array] => {
    return [name, atPositions(sequence, inputs[name]!)];
  });
  return {
    modelInput,
    targetTokens,
    temperature,
    ...(keptTokens && { keptTokens }),
    weights: atPositions(sequence, weights),
    lossInputs: Object.fromEntries(lossInputs),
    ...(scope === 'token' ? {} : { sequence: rolloutId }),
    pair,
  };
}
