import { invalid } from '@ui-rl/openai-api';
import type { ModelInput, ModelInputChunk } from '@ui-rl/plugin-kit';
import type { WireChunk } from '../wire/training-request';
import type { RequestImages } from './images';

export interface TokenRange {
  /** Largest token id plus one. */
  vocabSize: number;
  /** Image placeholder, which no text may contain. */
  imageTokenId: number;
  /** Longest sequence, in tokens. */
  maxSequence: number;
}

/** A model input with the images that it holds until released. */
export interface ReadInput {
  input: ModelInput;
  /** In tokens, including image placeholders. */
  length: number;
  hashes: string[];
}

/** Converts the tokens of a request to the engine's form. @throws ApiError that names the invalid chunk */
export async function readInput(
  chunks: readonly WireChunk[],
  path: string,
  images: RequestImages,
  range: TokenRange,
): Promise<ReadInput> {
  const hashes: string[] = [];
  try {
    const read: ModelInputChunk[] = [];
    const many = chunks.filter(({ type }) => type === 'image').length > 1;
    for (const [index, chunk] of chunks.entries()) {
      const at = `${path}.chunks[${index}]`;
      if (chunk.type === 'text') {
        checkTokens(chunk.tokens, `${at}.tokens`, range);
        if (chunk.tokens.length > 0) read.push({ type: 'text', tokens: chunk.tokens });
        continue;
      }
      const image = await images.take(chunk.base64, at);
      hashes.push(image.sha256);
      const { tokens } = many ? (image.amongOthers ?? image) : image;
      checkExpected(tokens, chunk.expectedTokens, at);
      read.push({ type: 'image', sha256: image.sha256, tokens });
    }
    const length = read.reduce(
      (sum, each) => sum + (each.type === 'image' ? each.tokens : each.tokens.length),
      0,
    );
    if (length === 0) throw invalid(path, 'has no tokens');
    if (length > range.maxSequence) {
      throw invalid(path, `has ${length} tokens; a sequence here has at most ${range.maxSequence}`);
    }
    return { input: { chunks: read }, length, hashes };
  } catch (error) {
    images.release(hashes);
    throw error;
  }
}

function checkTokens(tokens: readonly number[], path: string, { vocabSize, imageTokenId }: TokenRange): void {
  const at = tokens.findIndex((id) => id < 0 || id >= vocabSize || id === imageTokenId);
  if (at < 0) return;
  const why =
    tokens[at] === imageTokenId
      ? 'stands for an image, which is a separate chunk'
      : 'is not a token of the model';
  throw invalid(`${path}[${at}]`, `token ${tokens[at]} ${why}`);
}

function checkExpected(tokens: number, expected: number | undefined, path: string): void {
  if (expected === undefined || expected === tokens) return;
  throw invalid(`${path}.expected_tokens`, `is ${expected}, but the image takes ${tokens} tokens`);
}
