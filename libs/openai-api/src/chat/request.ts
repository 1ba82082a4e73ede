import type { ContentPart, ToolCall } from '@ui-rl/contracts';
import { ConversationBuilder, MAX_MESSAGES, MAX_PARTS, ROLES, textPart } from '../conversation';
import { invalid, unsupported } from '../errors';
import { Fields } from '../fields';
import type { PolicyPrompt, PolicyRequest } from '../policy';
import {
  readChoices,
  readMaxTokens,
  readSampling,
  readSeed,
  readStop,
  readStreamUsage,
  refuseAlternatives,
} from '../sampling';
import {
  MAX_TOOLS,
  mayCall,
  mostCalls,
  readArguments,
  readFunction,
  templateCall,
  templateTool,
} from '../tools';

/** A parsed request to `/v1/chat/completions`. */
export interface ChatRequest {
  policy: Omit<PolicyRequest, 'signal' | 'attempt' | 'seed'> & { prompt: PolicyPrompt };
  seed: number | undefined;
  choices: number;
  logprobs: boolean;
  /** Whether to parse calls in answers. */
  calls: boolean;
  /** Maximum number of calls per answer; further ones are dropped. */
  mostCalls: number;
  stream: boolean;
  streamUsage: boolean;
  /** Whether to return token ids of prompt and answers (vLLM's name). */
  tokenIds: boolean;
}

/** @throws ApiError that names the field */
export async function readChatRequest(body: unknown): Promise<ChatRequest> {
  const fields = Fields.of(body);
  const model = fields.requiredText('model');
  const tools = readTools(fields);
  const calls = mayCall(fields) && tools.length > 0;
  const builder = new ConversationBuilder(calls ? tools : []);
  const messages = fields.list('messages', MAX_MESSAGES);
  if (messages === undefined) throw fields.missing('messages');
  for (const [index, message] of messages.entries()) await addMessage(builder, message, `messages[${index}]`);
  const logprobs = fields.boolean('logprobs') ?? false;
  refuseAlternatives(fields, 'top_logprobs');
  const request: ChatRequest = {
    policy: {
      model,
      prompt: { kind: 'conversation', conversation: builder.done('messages') },
      maxTokens: readMaxTokens(fields, 'max_completion_tokens', 'max_tokens'),
      ...readSampling(fields),
      stop: readStop(fields),
    },
    seed: readSeed(fields),
    choices: readChoices(fields),
    logprobs,
    calls,
    mostCalls: mostCalls(fields),
    stream: fields.boolean('stream') ?? false,
    streamUsage: readStreamUsage(fields),
    tokenIds: fields.boolean('return_token_ids') ?? false,
  };
  refuseOthers(fields);
  return request;
}

/** Accepts fields that change nothing, and rejects those that would have to change something. */
function refuseOthers(fields: Fields): void {
  fields.note('user', 'metadata', 'safety_identifier', 'prompt_cache_key');
  fields.only('store', false);
  fields.only('logit_bias', {});
  fields.only('response_format', { type: 'text' });
  fields.only('modalities', ['text']);
  fields.only('service_tier', 'auto', 'default');
  for (const name of [
    'functions',
    'function_call',
    'audio',
    'prediction',
    'reasoning_effort',
    'verbosity',
    'web_search_options',
  ]) {
    fields.only(name);
  }
  fields.end();
}

function readTools(fields: Fields): object[] {
  return (fields.list('tools', MAX_TOOLS) ?? []).map((value, index) => {
    const tool = Fields.of(value, `tools[${index}]`);
    if (tool.text('type') !== 'function')
      throw unsupported(tool.at('type'), 'only "function" tools can be called here');
    const described = Fields.of(tool.raw('function'), tool.at('function'));
    tool.end();
    return templateTool(readFunction(described));
  });
}

async function addMessage(builder: ConversationBuilder, value: unknown, path: string): Promise<void> {
  const message = Fields.of(value, path);
  const role = ROLES.get(message.requiredText('role'));
  if (role === undefined) {
    throw invalid(message.at('role'), `expected one of ${[...ROLES.keys()].join(', ')}`);
  }
  const content = await readContent(builder, message.raw('content'), message.at('content'));
  const calls = role === 'assistant' ? readCallsOf(message) : undefined;
  // The client's parsed form of the content.
  message.note('parsed');
  message.note('name', 'refusal', 'tool_call_id', 'annotations');
  message.only('audio');
  message.only('function_call');
  message.end();
  if (content === undefined && calls === undefined) throw message.missing('content');
  builder.add(role, content ?? [], calls);
}

async function readContent(
  builder: ConversationBuilder,
  content: unknown,
  path: string,
): Promise<ContentPart[] | undefined> {
  if (content === undefined) return undefined;
  if (typeof content === 'string') return [textPart(content)];
  if (!Array.isArray(content) || content.length > MAX_PARTS)
    throw invalid(path, `expected a text, or up to ${MAX_PARTS} parts`);
  const parts: ContentPart[] = [];
  for (const [index, part] of content.entries())
    parts.push(await readPart(builder, part, `${path}[${index}]`));
  return parts;
}

async function readPart(builder: ConversationBuilder, value: unknown, path: string): Promise<ContentPart> {
  const part = Fields.of(value, path);
  const type = part.requiredText('type');
  if (type === 'text' || type === 'refusal') {
    const text = part.text(type) ?? '';
    part.note('annotations');
    part.end();
    return textPart(text);
  }
  if (type !== 'image_url')
    throw unsupported(part.at('type'), `"${type}" is not supported; expected text or image_url`);
  const image = Fields.of(part.raw('image_url'), part.at('image_url'));
  const url = image.requiredText('url');
  // The model's own processor determines the size of images.
  image.note('detail');
  image.end();
  part.end();
  return builder.image(url, image.at('url'));
}

function readCallsOf(message: Fields): ToolCall[] | undefined {
  return message.list('tool_calls', MAX_TOOLS)?.map((value, index) => {
    const call = Fields.of(value, `${message.at('tool_calls')}[${index}]`);
    // Clients that accumulate streams keep the index.
    call.note('id', 'type', 'index');
    const called = Fields.of(call.raw('function'), call.at('function'));
    call.end();
    return templateCall(called.requiredText('name'), readArguments(called));
  });
}
