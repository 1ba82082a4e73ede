import type { AnswerToken, PolicyAnswer } from '../policy';
import { newId, readCalls, type FunctionCall } from '../tools';
import { idsOf, now, usageOf } from '../usage';
import type { ChatRequest } from './request';

type Wanted = Pick<ChatRequest, 'calls' | 'mostCalls' | 'logprobs' | 'tokenIds'>;

const encoder = new TextEncoder();

/** The answer to `/v1/chat/completions`. */
export function chatCompletion(answers: readonly PolicyAnswer[], wanted: Wanted): object {
  const [{ model, digest, promptTokenIds }] = answers;
  return {
    id: newId('chatcmpl'),
    object: 'chat.completion',
    created: now(),
    model,
    system_fingerprint: digest,
    choices: answers.map((answer, index) => choiceOf(answer, index, wanted)),
    usage: usageOf(answers),
    ...(wanted.tokenIds ? { prompt_token_ids: promptTokenIds } : {}),
  };
}

function choiceOf(answer: PolicyAnswer, index: number, wanted: Wanted): object {
  const { text, calls } = readAnswer(answer, wanted);
  return {
    index,
    message: {
      role: 'assistant',
      content: calls.length > 0 && text === '' ? null : text,
      refusal: null,
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(toolCall) }),
    },
    logprobs: wanted.logprobs ? { content: answer.tokens.map(tokenLogprob), refusal: null } : null,
    finish_reason: calls.length > 0 ? 'tool_calls' : answer.finish,
    ...(wanted.tokenIds ? { token_ids: idsOf(answer) } : {}),
  };
}

function readAnswer({ text }: PolicyAnswer, wanted: Wanted): { text: string; calls: FunctionCall[] } {
  return wanted.calls ? readCalls(text, wanted.mostCalls) : { text, calls: [] };
}

function toolCall({ callId, name, arguments: json }: FunctionCall): object {
  return { id: callId, type: 'function', function: { name, arguments: json } };
}

/** Alternatives to the sampled token are not available. */
export function tokenLogprob({ text, logprob }: AnswerToken): object {
  return { token: text, logprob, bytes: [...encoder.encode(text)], top_logprobs: [] };
}

/** Common fields of all chunks of a stream. */
export interface ChunkHead {
  id: string;
  model: string;
  digest: string;
  created: number;
}

export function newChunkHead({ model, digest }: Pick<PolicyAnswer, 'model' | 'digest'>): ChunkHead {
  return { id: newId('chatcmpl'), model, digest, created: now() };
}

/** The first chunk of a choice. */
export function firstChunk(head: ChunkHead, index: number, promptTokenIds: number[], wanted: Wanted): object {
  const chunk = chunkOf(head, [
    { index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null },
  ]);
  return wanted.tokenIds ? { ...chunk, prompt_token_ids: promptTokenIds } : chunk;
}

/** A chunk with new tokens. */
export function tokenChunk(
  head: ChunkHead,
  index: number,
  tokens: readonly AnswerToken[],
  wanted: Wanted,
): object {
  const content = tokens.map(({ text }) => text).join('');
  return chunkOf(head, [deltaOf(index, { content }, tokens, wanted)]);
}

/**
 * The chunk of an answer that is sent as a whole: because it may contain calls, or because a stop text ends it, which
 * its tokens contain and its text does not.
 */
export function wholeChunk(head: ChunkHead, index: number, answer: PolicyAnswer, wanted: Wanted): object {
  const { text, calls } = readAnswer(answer, wanted);
  const delta = {
    ...(text === '' ? {} : { content: text }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map((call, place) => ({ index: place, ...toolCall(call) })) }),
  };
  return chunkOf(head, [deltaOf(index, delta, answer.tokens, wanted)]);
}

export function lastChunk(head: ChunkHead, index: number, answer: PolicyAnswer, wanted: Wanted): object {
  const called = readAnswer(answer, wanted).calls.length > 0;
  return chunkOf(head, [
    { index, delta: {}, logprobs: null, finish_reason: called ? 'tool_calls' : answer.finish },
  ]);
}

export function usageChunk(head: ChunkHead, answers: readonly PolicyAnswer[]): object {
  return { ...chunkOf(head, []), usage: usageOf(answers) };
}

function deltaOf(index: number, delta: object, tokens: readonly AnswerToken[], wanted: Wanted): object {
  return {
    index,
    delta,
    logprobs: wanted.logprobs ? { content: tokens.map(tokenLogprob), refusal: null } : null,
    finish_reason: null,
    ...(wanted.tokenIds ? { token_ids: tokens.map(({ id }) => id) } : {}),
  };
}

function chunkOf({ id, model, digest, created }: ChunkHead, choices: object[]): object {
  return { id, object: 'chat.completion.chunk', created, model, system_fingerprint: digest, choices };
}
