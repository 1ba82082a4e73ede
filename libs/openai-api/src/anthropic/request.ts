import type { ImageSize } from '@ui-rl/contracts';
import { ConversationBuilder, lastScreen, withInstructions } from '../conversation';
import { invalid, unsupported } from '../errors';
import { Fields } from '../fields';
import type { PolicyPrompt, PolicyRequest } from '../policy';
import { readMaxTokens } from '../sampling';
import { FORCED_CALL, MAX_TOOLS, readFunction, templateTool } from '../tools';
import { COMPUTERS, type ComputerForm } from './computer';
import { addMessages, addSystem, type Computing } from './messages';

const MAX_STOPS = 16;
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];

/** A parsed request to `/v1/messages`. */
export interface MessagesRequest {
  policy: Omit<PolicyRequest, 'signal' | 'attempt'> & { prompt: PolicyPrompt };
  /** Whether to parse calls in the answer. */
  calls: boolean;
  /** Maximum number of calls in the answer; further ones are dropped. */
  mostCalls: number;
  computer: ComputerRequest | undefined;
  stream: boolean;
}

/** A request with a computer tool. */
export interface ComputerRequest {
  form: ComputerForm;
  /** Size of the newest screenshot; undefined if none was shown. */
  screen: ImageSize | undefined;
  /** Whether the conversation begins without a screenshot: the answer then asks for one. */
  isBlind: boolean;
}

type Prompt = Pick<PolicyRequest, 'model' | 'prompt'>;
type Wanted = Pick<MessagesRequest, 'calls' | 'mostCalls' | 'computer'>;

/** @throws ApiError that names the field */
export async function readMessagesRequest(body: unknown, computing: Computing): Promise<MessagesRequest> {
  const fields = Fields.of(body);
  const { prompt, ...wanted } = await readPrompt(fields, computing);
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
export async function readCountRequest(body: unknown, computing: Computing): Promise<Prompt> {
  const fields = Fields.of(body);
  const { prompt } = await readPrompt(fields, computing);
  refuseOthers(fields);
  return prompt;
}

async function readPrompt(fields: Fields, computing: Computing): Promise<{ prompt: Prompt } & Wanted> {
  const model = fields.requiredText('model');
  const { tools, computer: form } = readTools(fields);
  const { mayCall, mostCalls } = readToolChoice(fields);
  const calls = mayCall && tools.length > 0;
  const builder = new ConversationBuilder(calls ? tools : []);
  addSystem(builder, fields);
  const called = await addMessages(builder, fields, { ...computing, computer: form });
  let conversation = builder.done('messages');
  const screen = await lastScreen(conversation);
  const computer =
    form !== undefined && mayCall
      ? { form, screen, isBlind: screen === undefined && called === 0 }
      : undefined;
  if (computer?.screen !== undefined) {
    const instructions = await computing.policy.computer.instructions(computer.screen);
    if (instructions !== null) conversation = withInstructions(conversation, instructions);
  }
  return { prompt: { model, prompt: { kind: 'conversation', conversation } }, calls, mostCalls, computer };
}

/** Accepts fields that change nothing, and rejects those that would have to change something. */
function refuseOthers(fields: Fields): void {
  // Prompts are cached by their tokens, whether or not a request marks them.
  fields.note('cache_control');
  // The policy decides for itself how much it thinks, in its text.
  fields.only('thinking', { type: 'disabled' }, { type: 'adaptive' });
  fields.only('output_config', {}, ...EFFORTS.map((effort) => ({ effort })));
  fields.only('speed', 'standard');
  for (const name of ['output_format', 'context_management', 'mcp_servers']) fields.only(name);
  fields.end();
}

function readTools(fields: Fields): { tools: object[]; computer: ComputerForm | undefined } {
  const tools: object[] = [];
  let computer: ComputerForm | undefined;
  for (const [index, value] of (fields.list('tools', MAX_TOOLS) ?? []).entries()) {
    const tool = Fields.of(value, `tools[${index}]`);
    const type = tool.text('type') ?? 'custom';
    const form = COMPUTERS.get(type);
    if (form !== undefined) {
      readComputer(tool);
      computer = form;
    } else if (type === 'custom') tools.push(readCustom(tool));
    else {
      throw unsupported(
        tool.at('type'),
        `"${type}" is not supported; expected one of ${[...COMPUTERS.keys()].join(', ')}, or "custom" with an input_schema`,
      );
    }
  }
  return { tools, computer };
}

/** Coordinates are pixels of each screenshot, regardless of its size. */
function readComputer(tool: Fields): void {
  tool.only('name', 'computer');
  tool.note('display_width_px', 'display_height_px', 'display_number', 'enable_zoom', 'configs');
  readCommon(tool);
  tool.end();
}

function readCustom(tool: Fields): object {
  if (tool.raw('input_schema') === undefined) throw tool.missing('input_schema');
  readCommon(tool);
  return templateTool(readFunction(tool, 'input_schema'));
}

function readCommon(tool: Fields): void {
  tool.note('cache_control', 'eager_input_streaming');
  tool.only('defer_loading', false);
  tool.only('allowed_callers', ['direct']);
  tool.only('input_examples', []);
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
