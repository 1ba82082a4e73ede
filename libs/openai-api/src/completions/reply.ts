import type { AnswerToken, PolicyAnswer } from '../policy';
import { newId } from '../tools';
import { idsOf, now } from '../usage';
import type { CompletionRequest } from './request';

type Wanted = Pick<CompletionRequest, 'logprobs' | 'tokenIds'>;

/** Common fields of an answer and of a stream's chunks. */
export interface CompletionHead {
  id: string;
  model: string;
  digest: string;
  created: number;
}

export function newHead({ model, digest }: Pick<PolicyAnswer, 'model' | 'digest'>): CompletionHead {
  return { id: newId('cmpl'), model, digest, created: now() };
}

/** The answer to `/v1/completions`, or a chunk of a stream. */
export function completion(head: CompletionHead, choices: object[], usage?: object): object {
  const { id, created, model, digest } = head;
  return {
    id,
    object: 'text_completion',
    created,
    model,
    system_fingerprint: digest,
    choices,
    usage,
  };
}

/** Tokens of all prompts and answers. @param choices number of answers to each prompt, which are consecutive */
export function completionUsage(answers: readonly PolicyAnswer[], choices: number): object {
  const read = answers.filter((_, index) => index % choices === 0);
  const prompt_tokens = read.reduce((sum, { promptTokenIds }) => sum + promptTokenIds.length, 0);
  const completion_tokens = answers.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}

export function choice(answer: PolicyAnswer, index: number, wanted: Wanted): object {
  return {
    text: answer.text,
    index,
    logprobs: wanted.logprobs ? logprobsOf(answer.tokens, 0) : null,
    finish_reason: answer.finish,
    ...(wanted.tokenIds ? { token_ids: idsOf(answer), prompt_token_ids: answer.promptTokenIds } : {}),
  };
}

/**
 * @param part tokens and the text that they add: less than all of theirs if a stop text ends it
 * @param offset number of preceding characters of the answer
 */
export function partialChoice(
  { tokens, text }: Pick<PolicyAnswer, 'tokens' | 'text'>,
  index: number,
  offset: number,
  wanted: Wanted,
): object {
  return {
    text,
    index,
    logprobs: wanted.logprobs ? logprobsOf(tokens, offset) : null,
    finish_reason: null,
    ...(wanted.tokenIds ? { token_ids: tokens.map(({ id }) => id) } : {}),
  };
}

export function lastChoice(answer: PolicyAnswer, index: number, wanted: Wanted): object {
  return {
    text: '',
    index,
    logprobs: null,
    finish_reason: answer.finish,
    ...(wanted.tokenIds ? { prompt_token_ids: answer.promptTokenIds } : {}),
  };
}

function logprobsOf(tokens: readonly AnswerToken[], offset: number): object {
  let at = offset;
  const text_offset = tokens.map(({ text }) => {
    const begins = at;
    at += text.length;
    return begins;
  });
  return {
    tokens: tokens.map(({ text }) => text),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: null,
    text_offset,
  };
}
