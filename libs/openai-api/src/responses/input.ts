import type { ContentPart } from '@ui-rl/contracts';
import { ConversationBuilder, MAX_MESSAGES, MAX_PARTS, ROLES, textPart } from '../conversation';
import { invalid, unsupported } from '../errors';
import { Fields } from '../fields';
import { sizeOf } from '../images';
import type { ServedPolicy } from '../policy';
import { readArguments, templateCall } from '../tools';
import { fromOpenAi } from './computer';
import type { Seal } from './seal';
import type { History, ResponseStore } from './store';

export interface InputContext {
  store: ResponseStore;
  policy: Pick<ServedPolicy, 'computer'>;
  seal: Seal;
  /** The history that the input continues. */
  begun: History | undefined;
  tools: object[];
}

/** The state of parsing items. */
interface Reading extends InputContext {
  /** Ids of the calls so far. */
  calls: Set<string>;
}

/** Converts the items of a request to a conversation, appended to the history that it continues. */
export async function readInput(input: unknown, context: InputContext): Promise<History> {
  const builder = new ConversationBuilder(context.tools, context.begun?.conversation);
  const reading = { ...context, calls: new Set(context.begun?.calls) };
  if (typeof input === 'string') builder.addText('user', input);
  else {
    if (!Array.isArray(input) || input.length > MAX_MESSAGES)
      throw invalid('input', `expected a text, or up to ${MAX_MESSAGES} items`);
    for (const [index, item] of input.entries())
      await addItem(builder, Fields.of(item, `input[${index}]`), reading);
  }
  return { conversation: builder.done('input'), calls: [...reading.calls] };
}

async function addItem(builder: ConversationBuilder, item: Fields, context: Reading): Promise<void> {
  const type = item.text('type') ?? 'message';
  item.note('id', 'status');
  switch (type) {
    case 'message':
      await addMessage(builder, item);
      break;
    case 'function_call':
      item.note('namespace', 'parsed_arguments');
      context.calls.add(item.requiredText('call_id'));
      builder.addCall(templateCall(item.requiredText('name'), readArguments(item)));
      break;
    case 'function_call_output':
      ofCall(item, context);
      builder.add('tool', await readContent(builder, item.raw('output'), item.at('output')));
      break;
    case 'computer_call':
      await addComputerCall(builder, item, context);
      break;
    case 'computer_call_output':
      ofCall(item, context);
      await addScreenshot(builder, item);
      break;
    case 'compaction':
      addSummary(builder, item, context);
      break;
    default:
      throw unsupported(item.at('type'), `items of type "${type}" are not supported`);
  }
  item.end();
}

/** An output must follow its call. */
function ofCall(item: Fields, { calls }: Reading): void {
  const id = item.requiredText('call_id');
  if (calls.has(id)) return;
  throw invalid(
    item.at('call_id'),
    `no call with the id "${id.slice(0, 100)}" stands before this output`,
    'tool_call_not_found',
  );
}

/** Adds the policy's summary of an earlier part of the conversation, from compaction. */
function addSummary(builder: ConversationBuilder, item: Fields, { seal, calls }: Reading): void {
  item.note('created_by');
  const opened = seal.open(item.requiredText('encrypted_content'));
  if (opened === undefined) {
    throw invalid(
      item.at('encrypted_content'),
      'was not made here, or was changed: start a new conversation with the messages themselves',
      'invalid_encrypted_content',
    );
  }
  for (const id of opened.calls) calls.add(id);
  if (opened.summary !== '') builder.addText('assistant', opened.summary);
}

async function addMessage(builder: ConversationBuilder, item: Fields): Promise<void> {
  const role = ROLES.get(item.requiredText('role'));
  if (role === undefined || role === 'tool')
    throw invalid(item.at('role'), 'expected user, assistant, system or developer');
  // Chat templates express the difference between comments and final answers themselves.
  item.note('phase');
  const content = item.raw('content');
  if (content === undefined) throw item.missing('content');
  builder.add(role, await readContent(builder, content, item.at('content')));
}

async function readContent(
  builder: ConversationBuilder,
  content: unknown,
  path: string,
): Promise<ContentPart[]> {
  if (typeof content === 'string') return [textPart(content)];
  if (!Array.isArray(content) || content.length > MAX_PARTS)
    throw invalid(path, `expected a text, or up to ${MAX_PARTS} parts`);
  const parts: ContentPart[] = [];
  for (const [index, part] of content.entries())
    parts.push(await readPart(builder, Fields.of(part, `${path}[${index}]`)));
  return parts;
}

async function readPart(builder: ConversationBuilder, part: Fields): Promise<ContentPart> {
  const type = part.requiredText('type');
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      part.note('annotations', 'logprobs', 'parsed');
      return closed(part, textPart(part.text('text') ?? ''));
    case 'refusal':
      return closed(part, textPart(part.text('refusal') ?? ''));
    case 'input_image':
    case 'computer_screenshot':
      part.note('detail');
      part.only('file_id');
      return closed(part, await builder.image(part.requiredText('image_url'), part.at('image_url')));
    default:
      throw unsupported(
        part.at('type'),
        `parts of type "${type}" are not supported; expected input_text or input_image`,
      );
  }
}

function closed(part: Fields, read: ContentPart): ContentPart {
  part.end();
  return read;
}

/** Uses the sampled text from which the call was parsed, if it is known; else writes its actions anew. */
async function addComputerCall(
  builder: ConversationBuilder,
  item: Fields,
  { store, policy, calls }: Reading,
): Promise<void> {
  const actions = fromOpenAi(item);
  const callId = item.requiredText('call_id');
  calls.add(callId);
  const sampled = store.textOfCall(callId);
  item.note('pending_safety_checks');
  if (sampled !== undefined) {
    if (sampled !== '') builder.addText('assistant', sampled);
    return;
  }
  const { lastImage } = builder;
  // A call that only requests a screenshot, as at the start of a conversation, is not an answer of the policy.
  if (actions.length === 0) return;
  if (lastImage === undefined)
    throw invalid(item.at('actions'), 'no screenshot stands before it that its coordinates could be of');
  builder.addText('assistant', await policy.computer.write(actions, await sizeOf(lastImage)));
}

/**
 * The screenshot after a computer call. Agents with the older tool send `input_image`, with the address of the page
 * beside it. An agent whose action failed adds the error, or sends it in place of a screenshot.
 */
async function addScreenshot(builder: ConversationBuilder, item: Fields): Promise<void> {
  item.note('acknowledged_safety_checks', 'current_url');
  const given = item.raw('output');
  if (typeof given === 'string') return builder.addSeen([textPart(given)]);
  const output = Fields.of(given, item.at('output'));
  const type = output.text('type');
  if (type !== 'computer_screenshot' && type !== 'input_image')
    throw invalid(output.at('type'), 'expected computer_screenshot or input_image');
  output.note('detail', 'current_url');
  output.only('file_id');
  const image = await builder.image(output.requiredText('image_url'), output.at('image_url'));
  const error = output.text('error');
  output.end();
  builder.addSeen(error === undefined ? [image] : [image, textPart(error)]);
}
