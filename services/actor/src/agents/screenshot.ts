import { sha256 } from '@ui-rl/bus';
import type { Screenshot } from '@ui-rl/contracts';
import { sizeOf } from '@ui-rl/openai-api';

/** Converts a picture from an agent. */
export async function screenshotOf(png: Uint8Array): Promise<Screenshot> {
  const { width, height } = await sizeOf(png);
  return { png, sha256: sha256(png), width, height };
}
