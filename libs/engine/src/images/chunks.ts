import type { ModelInput, ModelInputChunk } from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';

/**
 * A sequence with placeholders as a model input: runs of text, and a chunk for each run of an image's placeholders.
 * @param images in the order of their placeholders, of which each takes `tokens`
 * @throws EngineError `request` where there are more or fewer placeholders than the images take
 */
export function modelInputOf(
  tokenIds: ArrayLike<number>,
  images: readonly { sha256: string; tokens: number }[],
  imageTokenId: number,
): ModelInput {
  const chunks: ModelInputChunk[] = [];
  let image = -1;
  let left = 0;
  for (let from = 0; from < tokenIds.length;) {
    const isImage = tokenIds[from] === imageTokenId;
    let to = from + 1;
    while (to < tokenIds.length && (tokenIds[to] === imageTokenId) === isImage) to += 1;
    if (isImage) {
      if (left === 0) left = images[(image += 1)]?.tokens ?? 0;
      to = Math.min(to, from + left);
      if (to === from) throw misfit(images.length, 'more');
      chunks.push({ type: 'image', sha256: images[image].sha256, tokens: to - from });
      left -= to - from;
    } else {
      chunks.push({ type: 'text', tokens: Int32Array.from(Array.from(tokenIds).slice(from, to)) });
    }
    from = to;
  }
  if (left > 0 || image + 1 < images.length) throw misfit(images.length, 'fewer');
  return { chunks };
}

function misfit(images: number, which: 'more' | 'fewer'): EngineError {
  return new EngineError(
    'request',
    `the sequence has ${which} image placeholders than its ${images} images take`,
  );
}
