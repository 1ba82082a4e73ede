import type { Renderer } from '@ui-rl/models';

/** The text that each token adds to an answer; together they are the answer's text. */
export function textsOf(renderer: Renderer, tokenIds: readonly number[]): string[] {
  const decoder = renderer.answerDecoder();
  const texts = tokenIds.map((id) => decoder.push(id));
  if (texts.length > 0) texts[texts.length - 1] += decoder.flush();
  return texts;
}
