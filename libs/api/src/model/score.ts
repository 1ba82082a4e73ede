import { openModel, startFrozen, type ModelQuestion, type QuestionScope } from './opened-model';

/** What a model says of a conversation, token by token. */
export interface Scores {
  token_ids: number[];
  /** 1 for the tokens of assistant messages, end-of-turn token included. */
  assistant_mask: number[];
  /** Log-probability of each token given all before it; null for the first. */
  logprobs: (number | null)[];
  /** Tokens of each image, in order. */
  image_tokens: number[];
}

/** Log-probabilities of a conversation, token by token, as they are trained. */
export async function score(question: ModelQuestion, scope: QuestionScope): Promise<Scores> {
  const opened = await openModel(question, scope);
  const { renderer, messages, images } = opened;
  const { tokenIds, assistantMask, images: shown } = renderer.renderConversation(messages, images);
  const engine = await startFrozen(opened, tokenIds.length, question, scope);
  const mask = new Uint8Array(tokenIds.length).fill(1, 1);
  const [logprobs] = await engine.logprobs([{ tokenIds, images: shown, mask, advantages: 0 }]);
  return {
    token_ids: tokenIds,
    assistant_mask: Array.from(assistantMask),
    logprobs: Array.from(logprobs, (each, place) => (place === 0 ? null : each)),
    image_tokens: shown.map(({ tokens }) => tokens),
  };
}
