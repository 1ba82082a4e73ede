import { ModelError } from '@ui-rl/models';

/** Why no answer has room behind a prompt of so many tokens; undefined where one has. @param most of prompt and answer together */
export function lackOfRoom(tokens: number, most: number): string | undefined {
  if (tokens < most) return undefined;
  return `the prompt has ${tokens} tokens, which leaves no room for an answer in a sequence of ${most} (model.max_sequence): send fewer turns or smaller images`;
}

/** The same of a prompt that is not rendered, since it is far too long; undefined where the error says something else. */
export function lackOfRoomIn(error: unknown, most: number): string | undefined {
  if (!(error instanceof ModelError) || error.category !== 'too-long') return undefined;
  return `${error.message}, which leaves no room for an answer in a sequence of ${most} (model.max_sequence): send fewer turns or smaller images`;
}

/** Tokens that a prompt may have, so that an answer has room for one. */
export function mostOfPrompt(maxSequence: number): number {
  return maxSequence - 1;
}
