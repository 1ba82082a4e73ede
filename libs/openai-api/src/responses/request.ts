import { ApiError, unsupported } from '../errors';
import { Fields, isObject } from '../fields';
import type { PolicyRequest, ServedPolicy } from '../policy';
import { readMaxTokens, readSampling, refuseAlternatives } from '../sampling';
import { MAX_TOOLS, mayCall, mostCalls, readFunction, templateTool, type FunctionTool } from '../tools';
import { readInput } from './input';
import type { Seal } from './seal';
import type { History, ResponseStore, StoredResponse } from './store';

/** Maximum number of pairs in `metadata`, as in OpenAI's API. */
const MAX_METADATA = 16;
const MAX_METADATA_TEXT = 512;

export type ComputerForm = 'computer' | 'computer_use_preview';

/** Names of the computer tool. Agents written before OpenAI renamed it still send `computer-preview`. */
const COMPUTERS: ReadonlyMap<string, ComputerForm> = new Map([
  ['computer', 'computer'],
  ['computer_use_preview', 'computer_use_preview'],
  ['computer-preview', 'computer_use_preview'],
]);

/** State to which a request may refer. */
export interface Known {
  policy: ServedPolicy;
  store: ResponseStore;
  seal: Seal;
  connection?: Connection;
}

/** A connection remembers the newest of its responses, whether or not it is stored. */
export interface Connection {
  /** The continued response, if it is the newest one. */
  previous: StoredResponse | undefined;
  keep(id: string, response: StoredResponse): void;
}

/** A parsed request to `/v1/responses`. */
export interface ResponseRequest extends History {
  policy: Omit<PolicyRequest, 'signal' | 'attempt' | 'prompt'>;
  instructions: string | null;
  previous: string | null;
  /** As in the request, completed with defaults. */
  tools: object[];
  toolChoice: string;
  /** Whether to parse function calls in the answer. */
  callsFunctions: boolean;
  /** Maximum number of calls per answer; further ones are dropped. */
  mostCalls: number;
  /** The caller's form of computer calls; undefined without a computer tool. */
  computer: ComputerForm | undefined;
  logprobs: boolean;
  truncation: 'auto' | 'disabled';
  store: boolean;
  stream: boolean;
  tokenIds: boolean;
  metadata: object;
  /** Fields that the answer repeats. */
  echoed: { safety_identifier: string | null; prompt_cache_key: string | null; parallel_tool_calls: boolean };
}

/** @throws ApiError that names the field */
export async function readResponseRequest(body: unknown, known: Known): Promise<ResponseRequest> {
  const fields = Fields.of(body);
  const model = fields.requiredText('model');
  const { functions, computer, tools } = readTools(fields);
  const toolChoice = mayCall(fields) ? 'auto' : 'none';
  const callsFunctions = toolChoice === 'auto' && functions.length > 0;
  const store = fields.boolean('store') ?? true;
  const previous = fields.text('previous_response_id') ?? null;
  const begun = previous === null ? undefined : historyOf(previous, known, store);
  const input = fields.raw('input');
  if (input === undefined) throw fields.missing('input');
  const read = await readInput(input, {
    ...known,
    begun,
    tools: callsFunctions ? functions.map(templateTool) : [],
  });
  refuseAlternatives(fields, 'top_logprobs');
  const request: ResponseRequest = {
    policy: {
      model,
      maxTokens: readMaxTokens(fields, 'max_output_tokens'),
      ...readSampling(fields),
      stop: [],
    },
    ...read,
    instructions: fields.text('instructions') ?? null,
    previous,
    tools,
    toolChoice,
    callsFunctions,
    mostCalls: mostCalls(fields),
    computer: toolChoice === 'auto' ? computer : undefined,
    logprobs: readInclude(fields),
    truncation: readTruncation(fields),
    store,
    stream: fields.boolean('stream') ?? false,
    tokenIds: fields.boolean('return_token_ids') ?? false,
    metadata: readMetadata(fields),
    echoed: {
      safety_identifier: fields.text('safety_identifier') ?? null,
      prompt_cache_key: fields.text('prompt_cache_key') ?? null,
      parallel_tool_calls: fields.boolean('parallel_tool_calls') ?? true,
    },
  };
  refuseOthers(fields);
  return request;
}

function refuseOthers(fields: Fields): void {
  fields.note('user', 'prompt_cache_retention');
  fields.only('background', false);
  fields.only('service_tier', 'auto', 'default');
  fields.only('text', {}, { format: { type: 'text' } });
  fields.only('reasoning', {});
  fields.only('stream_options', {}, { include_obfuscation: false });
  for (const name of ['conversation', 'prompt', 'max_tool_calls', 'context_management']) fields.only(name);
  fields.end();
}

/** Responses requested without `store` are looked up only in their connection. */
export function historyOf(id: string, { store, connection }: Known, isStored = true): History {
  const found = connection?.previous ?? (connection === undefined || isStored ? store.get(id) : undefined);
  if (found !== undefined) return found;
  throw new ApiError(
    400,
    `previous_response_id: there is no response "${id.slice(0, 100)}" (any more): the newest ones are kept in memory`,
    'previous_response_not_found',
    'previous_response_id',
  );
}

function readTools(fields: Fields): {
  functions: FunctionTool[];
  computer: ComputerForm | undefined;
  tools: object[];
} {
  const functions: FunctionTool[] = [];
  let computer: ComputerForm | undefined;
  const tools = (fields.list('tools', MAX_TOOLS) ?? []).map((value, index): object => {
    const tool = Fields.of(value, `tools[${index}]`);
    const type = tool.requiredText('type');
    if (type === 'function') {
      const read = readFunction(tool);
      functions.push(read);
      return { type, ...read };
    }
    computer = COMPUTERS.get(type);
    if (computer === undefined) {
      const expected = [...COMPUTERS.keys()].join(', ');
      throw unsupported(tool.at('type'), `"${type}" is not supported; expected one of function, ${expected}`);
    }
    // Coordinates are pixels of each screenshot, regardless of its size.
    tool.note('display_width', 'display_height', 'environment');
    tool.end();
    return value as object;
  });
  return { functions, computer, tools };
}

function readInclude(fields: Fields): boolean {
  const wanted = fields.list('include', 32) ?? [];
  for (const each of wanted) {
    if (each === 'message.output_text.logprobs' || each === 'computer_call_output.output.image_url') continue;
    throw unsupported(
      fields.at('include'),
      `"${String(each)}" is not supported; expected message.output_text.logprobs`,
    );
  }
  return wanted.includes('message.output_text.logprobs');
}

function readTruncation(fields: Fields): 'auto' | 'disabled' {
  const given = fields.text('truncation') ?? 'disabled';
  if (given === 'auto' || given === 'disabled') return given;
  throw unsupported(fields.at('truncation'), 'expected auto or disabled');
}

function readMetadata(fields: Fields): object {
  const metadata = fields.raw('metadata') ?? {};
  const isShort = (text: unknown) => typeof text === 'string' && text.length <= MAX_METADATA_TEXT;
  if (isObject(metadata)) {
    const values = Object.values(metadata);
    if (values.length <= MAX_METADATA && values.every(isShort)) return metadata;
  }
  throw unsupported(
    fields.at('metadata'),
    `expected an object of up to ${MAX_METADATA} texts of up to ${MAX_METADATA_TEXT} characters`,
  );
}
