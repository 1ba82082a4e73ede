import { ApiError } from '../errors';
import type { PolicyAnswer } from '../policy';
import { idsOf, now } from '../usage';
import type { OutputItem } from './items';
import type { ResponseRequest } from './request';

/** Fields that are constant from the first event of a response to its last. */
export interface ResponseHead {
  id: string;
  createdAt: number;
  model: string;
}

/**
 * The response while in progress, or after it.
 * @param end its result: an answer, or a failure
 */
export function resourceOf(
  { id, createdAt, model }: ResponseHead,
  request: ResponseRequest,
  end?: { answer: PolicyAnswer; output: OutputItem[] } | ApiError,
): object {
  const { policy } = request;
  const failure = end instanceof ApiError ? end : undefined;
  const done = end instanceof ApiError ? undefined : end;
  const isCut = done?.answer.finish === 'length';
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: done === undefined || isCut ? null : now(),
    status: statusOf(end),
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    error: failure === undefined ? null : { code: failure.code ?? failure.type, message: failure.message },
    model,
    previous_response_id: request.previous,
    instructions: request.instructions,
    output: done?.output ?? [],
    usage: done === undefined ? null : usageOf(done.answer),
    tools: request.tools,
    tool_choice: request.toolChoice,
    truncation: request.truncation,
    text: { format: { type: 'text' } },
    temperature: policy.temperature ?? 1,
    top_p: policy.topP ?? 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_output_tokens: policy.maxTokens ?? null,
    max_tool_calls: null,
    reasoning: null,
    store: request.store,
    background: false,
    service_tier: 'default',
    metadata: request.metadata,
    ...request.echoed,
    ...(request.tokenIds && done !== undefined ? tokensOf(done.answer) : {}),
  };
}

function statusOf(end: { answer: PolicyAnswer } | ApiError | undefined): string {
  if (end === undefined) return 'in_progress';
  if (end instanceof ApiError) return 'failed';
  return end.answer.finish === 'length' ? 'incomplete' : 'completed';
}

/** Additional fields besides OpenAI's, on request. */
function tokensOf(answer: PolicyAnswer): object {
  return {
    prompt_token_ids: answer.promptTokenIds,
    token_ids: idsOf(answer),
    token_logprobs: answer.tokens.map(({ logprob }) => logprob),
  };
}

export function usageOf({ promptTokenIds, tokens }: PolicyAnswer): object {
  return {
    input_tokens: promptTokenIds.length,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: tokens.length,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: promptTokenIds.length + tokens.length,
  };
}
