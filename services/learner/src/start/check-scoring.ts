import { createHash } from 'node:crypto';
import { makeRenderer, promptChunks, type PromptFolder } from '@ui-rl/models';
import type { Engine, EngineContext } from '@ui-rl/plugin-kit';
import { POLICY } from '../checkpoints/run-models';

/** A white screen of 64×64 pixels. */
const SCREEN = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAS0lEQVR42u3PMQ0AAAwDoPo33UrYvQQckD4XAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAYHLAMpT0sIcNbcEAAAAAElFTkSuQmCC',
  'base64',
);

const SCREEN_SHA256 = createHash('sha256').update(SCREEN).digest('hex');

/** Adds the screen of `checkScoring` to the images that an engine may fetch. */
export function withProbe(fetchImage: EngineContext['fetchImage']): EngineContext['fetchImage'] {
  return async (sha256) => (sha256 === SCREEN_SHA256 ? SCREEN : fetchImage(sha256));
}

/**
 * Asks a teacher for the log-probability of a token. A service that cannot answer then fails the start of a run instead
 * of its first step.
 * @param showsScreens whether prompts of the run contain screenshots
 */
export async function checkScoring(
  engine: Engine,
  folder: PromptFolder,
  showsScreens: boolean,
): Promise<void> {
  const text = { type: 'text' as const, text: 'Turn on Wi-Fi.' };
  const content = showsScreens ? [{ type: 'image' as const }, text] : [text];
  const screens = showsScreens ? [SCREEN] : [];
  const { tokenIds, images } = await makeRenderer(folder).renderPngs([{ role: 'user', content }], screens);
  const chunks = promptChunks(tokenIds.slice(0, -1), images, folder.family.shape.imageTokenId);
  const targetTokens = tokenIds.slice(1);
  const weights = targetTokens.map((_, place) => Number(place === targetTokens.length - 1));
  await engine.forward({ model: POLICY, data: [{ modelInput: { chunks }, targetTokens, weights }] });
}
