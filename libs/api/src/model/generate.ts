import { openModel, startFrozen, type ModelQuestion, type QuestionScope } from './opened-model';

export interface GenerateOptions extends ModelQuestion {
  /** Tokens of the answer at most. */
  maxTokens: number;
  /** 0 always takes the likeliest token. */
  temperature: number;
  topP: number;
  seed: number;
}

/** An answer as it was sampled. */
export interface Answer {
  /** End-of-turn token included, where there is one. */
  token_ids: number[];
  /** Under softmax(logits / temperature), at temperature 1 for greedy decoding. */
  logprobs: number[];
  text: string;
  finish_reason: 'stop' | 'length';
  prompt_token_ids: number[];
}

/** The answer of a model to a conversation. Throws where the last message is the assistant's. */
export async function generate(options: GenerateOptions, scope: QuestionScope): Promise<Answer> {
  const { input, maxTokens, temperature, topP, seed } = options;
  const opened = await openModel(options, scope);
  const { folder, renderer, messages, images } = opened;
  if (messages.at(-1)?.role === 'assistant') {
    throw new Error(`${input}: the last message is the assistant's; expected one that is to be answered`);
  }
  const prompt = renderer.render(messages, images);
  const engine = await startFrozen(opened, prompt.tokenIds.length + maxTokens, options, scope);
  const { tokenIds, logprobs, finishReason } = await engine.generate({
    prompt,
    maxTokens,
    temperature,
    topP,
    seed,
  });
  return {
    token_ids: tokenIds,
    logprobs,
    text: folder.tokenizer.decode(tokenIds, { skipSpecialTokens: true }),
    finish_reason: finishReason,
    prompt_token_ids: prompt.tokenIds,
  };
}
