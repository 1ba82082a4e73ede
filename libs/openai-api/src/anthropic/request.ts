import { ConversationBuilder } from '../conversation';
import { invalid, unsupported } from '../errors';
import { Fields } from '../fields';
import type { PolicyPrompt, PolicyRequest } from '../policy';
import { readMaxTokens } from '../sampling';
import { FORCED_CALL, MAX_TOOLS, readFunction, templateTool } from '../tools';
import { addMessages, addSystem } from './messages';

const MAX_STOPS = 16;

/** A parsed request to `/v1/messages`. */
export interface MessagesRequest {
  policy: Omit<PolicyRequest, 'signal' | 'attempt'> & { prompt: PolicyPrompt };
  /** Whether to parse calls in the answer. */
  calls: boolean;
  /** Maximum number of calls in the answer; further ones are dropped. */
  mostCalls: number;
  stream: boolean;
}

type Prompt = Pick<PolicyRequest, 'model' | 'prompt'>;

/** @throws ApiError that names the field */
export async function readMessagesRequest(body: unknown): Promise<MessagesRequest> {
  const fields = Fields.of(body);
  const { prompt, ...wanted } = await readPrompt(fields);
  const maxTokens = readMaxTokens(fields, 'max_tokens');
  if (maxTokens === undefined) throw fields.missing('max_tokens');
  const request: MessagesRequest = {
    policy: {
      ...prompt,
      maxTokens,
      temperature: fields.number('temperature', { min: 0, max: 1 }),
      topP: fields.number('top_p', { min: 1e-6, max: 1 }),
      stop: readStops(fields),
    },
    ...wanted,
    stream: fields.boolean('stream') ?? false,
  };
  fields.note('metadata');
  fields.only('service_tier', 'auto', 'standard_only');
  for (const name of ['top_k', 'container', 'diagnostics', 'inference_geo']) fields.only(name);
  refuseOthers(fields);
  return request;
}

/** The prompt of a request to `/v1/messages/count_tokens`. @throws ApiError that names the field */
export async function readCountRequest(body: unknown): Promise<Prompt> {
  const fields = Fields.of(body);
  const { prompt } = await readPrompt(fields);
  refuseOthers(fields);
  return prompt;
}

async function readPrompt(
  fields: Fields,
): Promise<{ prompt: Prompt } & Pick<MessagesRequest, 'calls' | 'mostCalls'>> {
  const model = fields.requiredText('model');
  const tools = readTools(fields);
  const { mayCall, mostCalls } = readToolChoice(fields);
  const calls = mayCall && tools.length > 0;
  const builder = new ConversationBuilder(calls ? tools : []);
  addSystem(builder, fields);
  await addMessages(builder, fields);
  const conversation = builder.done('messages');
  return { prompt: { model, prompt: { kind: 'conversation', conversation } }, calls, mostCalls };
}

/** Accepts fields that change nothing, and rejects those that would have to change something. */
function refuseOthers(fields: Fields): void {
  // Prompts are cached by their tokens, whether or not a request marks them.
  fields.note('cache_control');
  fields.only('thinking', { type: 'disabled' });
  fields.only('output_config', {});
  fields.only('speed', 'standard');
  for (const name of ['output_format', 'context_management', 'mcp_servers']) fields.only(name);
  fields.end();
}

function readTools(fields: Fields): object[] {
  return (fields.list('tools', MAX_TOOLS) ?? []).map((value, index) => {
    const tool = Fields.of(value, `tools[${index}]`);
    const type = tool.text('type') ?? 'custom';
    if (type !== 'custom') {
      throw unsupported(
        tool.at('type'),
        `"${type}" is not supported: nothing runs tools here; expected "custom", with an input_schema`,
      );
    }
    if (tool.raw('input_schema') === undefined) throw tool.missing('input_schema');
    tool.note('cache_control', 'eager_input_streaming');
    tool.only('defer_loading', false);
    tool.only('allowed_callers', ['direct']);
    tool.only('input_examples', []);
    return templateTool(readFunction(tool, 'input_schema'));
  });
}

function readToolChoice(fields: Fields): { mayCall: boolean; mostCalls: number } {
  const value = fields.raw('tool_choice');
  if (value === undefined) return { mayCall: true, mostCalls: Infinity };
  const choice = Fields.of(value, 'tool_choice');
  const type = choice.requiredText('type');
  if (type !== 'auto' && type !== 'none') throw unsupported(choice.at('type'), FORCED_CALL);
  const isSingle = choice.boolean('disable_parallel_tool_use') ?? false;
  choice.end();
  return { mayCall: type === 'auto', mostCalls: isSingle ? 1 : Infinity };
}

function readStops(fields: Fields): string[] {
  const stops = fields.list('stop_sequences', MAX_STOPS) ?? [];
  if (stops.every((each) => typeof each === 'string' && each !== '')) return stops as string[];
  throw invalid('stop_sequences', 'expected texts, none of them empty');
}
