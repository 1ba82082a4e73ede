import { ModelError } from '@ui-rl/models';

/**
 * Why a prompt of this length leaves no capacity for an answer; undefined if it does. @param most limit of prompt and
 * answer together
 */
export function lackOfRoom(tokens: number, most: number): string | undefined {
  if (tokens < most) return undefined;
  return `the prompt has ${tokens} tokens, which leaves no room for an answer in a sequence of ${most} (model.max_sequence): send fewer turns or smaller images`;
}

/** The same for a prompt that was not rendered because it is far too long; undefined for other errors. */
export function lackOfRoomIn(error: unknown, most: number): string | undefined {
  if (!(error instanceof ModelError) || error.category !== 'too-long') return undefined;
  return `${error.message}, which leaves no room for an answer in a sequence of ${most} (model.max_sequence): send fewer turns or smaller images`;
}

/** Maximum number of prompt tokens that leaves capacity for an answer. */
export function mostOfPrompt(maxSequence: number): number {
  return maxSequence - 1;
}
