import { invalid, unsupported } from '../errors';
import { Fields } from '../fields';
import type { PolicyPrompt, PolicyRequest } from '../policy';
import { readChoices, readMaxTokens, readSampling, readSeed, readStop, readStreamUsage } from '../sampling';

const MAX_PROMPTS = 64;
const MAX_TOKEN = 2 ** 31 - 1;
/** OpenAI's default. */
const DEFAULT_TOKENS = 16;

/** A parsed request to `/v1/completions`. */
export interface CompletionRequest {
  policy: Omit<PolicyRequest, 'signal' | 'attempt' | 'seed' | 'prompt'>;
  prompts: PolicyPrompt[];
  seed: number | undefined;
  /** Number of answers per prompt. */
  choices: number;
  logprobs: boolean;
  stream: boolean;
  streamUsage: boolean;
  tokenIds: boolean;
}

/** @throws ApiError that names the field */
export function readCompletionRequest(body: unknown): CompletionRequest {
  const fields = Fields.of(body);
  const request: CompletionRequest = {
    policy: {
      model: fields.requiredText('model'),
      maxTokens: readMaxTokens(fields, 'max_tokens') ?? DEFAULT_TOKENS,
      ...readSampling(fields),
      stop: readStop(fields),
    },
    prompts: readPrompts(fields),
    seed: readSeed(fields),
    choices: readChoices(fields),
    logprobs: readLogprobs(fields),
    stream: fields.boolean('stream') ?? false,
    streamUsage: readStreamUsage(fields),
    tokenIds: fields.boolean('return_token_ids') ?? false,
  };
  fields.note('user');
  fields.only('echo', false);
  fields.only('best_of', 1, request.choices);
  fields.only('suffix');
  fields.only('logit_bias', {});
  fields.end();
  return request;
}

/** 0: log-probabilities of the sampled tokens. More would require alternatives, which are not available. */
function readLogprobs(fields: Fields): boolean {
  const count = fields.number('logprobs', { min: 0, max: 5, integer: true });
  if (count === undefined || count === 0) return count === 0;
  throw unsupported(
    fields.at('logprobs'),
    'only the log-probability of the sampled token is known; 0 asks for it',
  );
}

function readPrompts(fields: Fields): PolicyPrompt[] {
  const value = fields.raw('prompt');
  if (value === undefined) throw fields.missing('prompt');
  const isList =
    Array.isArray(value) && !(value.length > 0 && value.every((each) => typeof each === 'number'));
  const prompts: unknown[] = isList ? value : [value];
  if (prompts.length === 0 || prompts.length > MAX_PROMPTS) {
    throw invalid('prompt', `holds ${prompts.length} prompts, expected 1 to ${MAX_PROMPTS}`);
  }
  return prompts.map((prompt) => {
    if (typeof prompt === 'string' && prompt !== '') return { kind: 'text', text: prompt };
    if (Array.isArray(prompt) && prompt.length > 0 && prompt.every(isToken))
      return { kind: 'tokens', tokenIds: prompt };
    throw invalid(
      'prompt',
      'expected a text, a list of token ids, or a list of such prompts, none of them empty',
    );
  });
}

function isToken(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKEN;
}
