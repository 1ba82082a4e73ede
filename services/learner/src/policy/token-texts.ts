import type { Renderer } from '@ui-rl/models';

/** What each token adds to the text of an answer; all of them together are that text. */
export function textsOf(renderer: Renderer, tokenIds: readonly number[]): string[] {
  const decoder = renderer.answerDecoder();
  const texts = tokenIds.map((id) => decoder.push(id));
  if (texts.length > 0) texts[texts.length - 1] += decoder.flush();
  return texts;
}
