import type { ModelInputChunk } from '@ui-rl/plugin-kit';
import { SamplerError } from './errors';
import type { Ask, ShownImage } from './protocol';

/** A prompt in the format for servers. */
export function promptOf(
  chunks: readonly ModelInputChunk[],
  imageTokenId: number,
): Pick<Ask, 'promptTokens' | 'images'> {
  const promptTokens: number[] = [];
  const images: ShownImage[] = [];
  for (const chunk of chunks) {
    const at = promptTokens.length;
    if (chunk.type === 'text') {
      for (let place = 0; place < chunk.tokens.length; place += 1) promptTokens.push(chunk.tokens[place]);
      continue;
    }
    const { sha256, tokens, continues } = chunk;
    const before = images.at(-1);
    if (continues === true && before !== undefined) before.interrupted = true;
    else images.push({ sha256, at, tokens });
    for (let place = 0; place < tokens; place += 1) promptTokens.push(imageTokenId);
  }
  return { promptTokens, images };
}

const AROUND = 4;

/**
 * Throws if the server read a different prompt than the one that will be trained on.
 * @param expected as rendered by this project, found: as rendered by the server, both with image positions
 */
export function mustBeSamePrompt(
  expected: readonly number[],
  found: readonly number[],
  address: string,
): void {
  const longest = Math.max(expected.length, found.length);
  let place = 0;
  while (place < longest && expected[place] === found[place]) place += 1;
  if (place === longest) return;
  const around = (tokens: readonly number[]): string =>
    `… ${tokens.slice(Math.max(0, place - AROUND), place + AROUND + 1).join(' ')} …`;
  throw new SamplerError(
    'request',
    `${address} read another prompt: token ${place} is ${found[place] ?? 'missing'}, expected ${expected[place] ?? 'the end'} ` +
      `(${found.length} tokens, expected ${expected.length}; found ${around(found)}, expected ${around(expected)}). ` +
      'Do model, chat template and image processor of the server belong to the model of the run?',
  );
}
