import type { ContentPart, ToolCall } from '@ui-rl/contracts';
import { MAX_MESSAGES, MAX_PARTS, textPart, type ConversationBuilder } from '../conversation';
import { invalid, unsupported } from '../errors';
import { Fields, isObject } from '../fields';
import { sizeOf } from '../images';
import type { ServedPolicy } from '../policy';
import type { ResponseStore } from '../responses/store';
import { MAX_TOOLS, templateCall } from '../tools';
import { fromAnthropic, isComputerCall, isScreenshotCall, type ComputerForm } from './computer';

const MEDIA_TYPES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

/** Knows the calls of earlier answers, and the action format of the policy. */
export interface Computing {
  store: ResponseStore;
  policy: Pick<ServedPolicy, 'computer'>;
}

/** Adds the system prompt, if any. */
export function addSystem(builder: ConversationBuilder, fields: Fields): void {
  const content = fields.raw('system');
  if (content === undefined) return;
  builder.add('system', readTexts(content, 'system'));
}

/**
 * Adds the messages in the form of chat templates: calls in a field of the assistant, results as messages. Calls of
 * the computer tool are the policy's own answers, and their results messages of the user. Returns the number of calls.
 */
export async function addMessages(
  builder: ConversationBuilder,
  fields: Fields,
  computing: Computing & { computer: ComputerForm | undefined },
): Promise<number> {
  const messages = fields.list('messages', MAX_MESSAGES);
  if (messages === undefined) throw fields.missing('messages');
  const turns = new Turns(builder, computing);
  for (const [index, message] of messages.entries())
    await turns.add(Fields.of(message, `messages[${index}]`));
  turns.end();
  return turns.calls.size;
}

/** The content of a user's or the assistant's message, to which more may come. */
interface OpenTurn {
  role: 'user' | 'assistant';
  content: ContentPart[];
  calls: ToolCall[];
}

/** Converts messages; consecutive ones of a role become one, as in Anthropic's API. */
class Turns {
  private open: OpenTurn | undefined;
  /** By the ids of the calls so far. */
  readonly calls = new Map<string, 'computer' | 'function'>();
  private added = 0;

  constructor(
    private readonly builder: ConversationBuilder,
    private readonly computing: Computing & { computer: ComputerForm | undefined },
  ) {}

  async add(message: Fields): Promise<void> {
    const role = message.requiredText('role');
    const content = message.raw('content');
    if (content === undefined) throw message.missing('content');
    const path = message.at('content');
    message.end();
    if (role === 'system') {
      this.close();
      this.emit('system', readTexts(content, path));
    } else if (role === 'user') await this.addUser(content, path);
    else if (role === 'assistant') await this.addAssistant(content, path);
    else throw invalid(message.at('role'), 'expected user, assistant or system');
  }

  end(): void {
    if (this.open?.role === 'assistant')
      throw unsupported(
        'messages',
        'the beginning of an answer cannot be given: end with a message of the user',
      );
    this.close();
  }

  private async addUser(content: unknown, path: string): Promise<void> {
    const blocks = blocksIn(content, path);
    if (blocks.length === 0) throw invalid(path, 'is empty: expected a text or blocks');
    for (const block of blocks) {
      if (block.text('type') === 'tool_result') await this.addResult(block);
      else this.openTurn('user').content.push(await this.readPart(block, 'text, image or tool_result'));
    }
  }

  private async addAssistant(content: unknown, path: string): Promise<void> {
    for (const block of blocksIn(content, path)) {
      const type = block.requiredText('type');
      if (type === 'tool_use' && isComputerCall(block, this.computing.computer)) {
        const text = await this.readComputerCall(block);
        if (text !== '') this.openTurn('assistant').content.push(textPart(text));
        continue;
      }
      const turn = this.openTurn('assistant');
      if (type === 'text') turn.content.push(readText(block));
      else if (type === 'tool_use') turn.calls.push(this.readCall(block, turn));
      else throw unknownBlock(block, type, 'text or tool_use');
    }
  }

  /** The sampled text from which the call was parsed, if it is known; else its action is written anew. */
  private async readComputerCall(block: Fields): Promise<string> {
    const { store, policy } = this.computing;
    const id = block.requiredText('id');
    this.calls.set(id, 'computer');
    block.note('name', 'toolset_name', 'input');
    block.only('caller', { type: 'direct' });
    closed(block);
    const sampled = store.textOfCall(id);
    if (sampled !== undefined) return sampled;
    const { lastImage } = this.builder;
    if (lastImage !== undefined) {
      const screen = await sizeOf(lastImage);
      return policy.computer.write(fromAnthropic(block, screen), screen);
    }
    // A call that only shows the screen at the start of a conversation is not an answer of the policy.
    if (isScreenshotCall(block)) return '';
    throw invalid(block.at('input'), 'no screenshot stands before it that its coordinates could be of');
  }

  private readCall(block: Fields, { calls }: OpenTurn): ToolCall {
    if (calls.length === MAX_TOOLS)
      throw invalid(block.at('type'), `is call ${MAX_TOOLS + 1} of a message, expected at most ${MAX_TOOLS}`);
    this.calls.set(block.requiredText('id'), 'function');
    const name = block.requiredText('name');
    const input = block.raw('input') ?? {};
    if (!isObject(input)) throw invalid(block.at('input'), 'expected an object');
    block.only('caller', { type: 'direct' });
    block.only('toolset_name');
    closed(block);
    return templateCall(name, input);
  }

  private async addResult(block: Fields): Promise<void> {
    const id = block.requiredText('tool_use_id');
    const called = this.calls.get(id);
    if (called === undefined) {
      throw invalid(
        block.at('tool_use_id'),
        `no tool_use with the id "${id.slice(0, 100)}" stands before this result`,
        'tool_call_not_found',
      );
    }
    const parts: ContentPart[] = [];
    for (const part of blocksIn(block.raw('content') ?? [], block.at('content')))
      parts.push(await this.readPart(part, 'text or image'));
    // Chat templates have no sign of failure: the model reads it in the content.
    block.boolean('is_error');
    if (called === 'function') block.only('toolset_name');
    else block.note('toolset_name');
    closed(block);
    if (called === 'computer') {
      this.openTurn('user').content.push(...parts);
      return;
    }
    this.close();
    this.emit('tool', parts);
  }

  private async readPart(block: Fields, expected: string): Promise<ContentPart> {
    const type = block.requiredText('type');
    if (type === 'text') return readText(block);
    if (type !== 'image') throw unknownBlock(block, type, expected);
    const source = Fields.of(block.raw('source'), block.at('source'));
    const url = readSource(source);
    // The model's own processor determines the size of images.
    block.only('transformations', {}, { oversized_image: 'downsize' });
    closed(block);
    return this.builder.image(url, source.at('data'));
  }

  private openTurn(role: OpenTurn['role']): OpenTurn {
    if (this.open?.role !== role) this.close();
    this.open ??= { role, content: [], calls: [] };
    return this.open;
  }

  private close(): void {
    if (this.open === undefined) return;
    const { role, content, calls } = this.open;
    this.open = undefined;
    this.emit(role, content, calls.length === 0 ? undefined : calls);
  }

  private emit(...message: Parameters<ConversationBuilder['add']>): void {
    this.added += 1;
    if (this.added > MAX_MESSAGES)
      throw invalid('messages', `with the results of tools, they are more than ${MAX_MESSAGES}`);
    this.builder.add(...message);
  }
}

/** A text is short for one block. */
function blocksIn(content: unknown, path: string): Fields[] {
  if (typeof content === 'string') return [Fields.of({ type: 'text', text: content }, path)];
  if (Array.isArray(content) && content.length <= MAX_PARTS)
    return content.map((block, index) => Fields.of(block, `${path}[${index}]`));
  throw invalid(path, `expected a text, or up to ${MAX_PARTS} blocks`);
}

function readTexts(content: unknown, path: string): ContentPart[] {
  return blocksIn(content, path).map((block) => {
    const type = block.requiredText('type');
    if (type !== 'text') throw unknownBlock(block, type, 'text');
    return readText(block);
  });
}

function readText(block: Fields): ContentPart {
  const text = block.text('text');
  if (text === undefined) throw block.missing('text');
  block.only('citations', []);
  closed(block);
  return textPart(text);
}

/** The data URL of an image. */
function readSource(source: Fields): string {
  const type = source.requiredText('type');
  if (type !== 'base64') {
    throw unsupported(
      source.at('type'),
      `"${type}" is not supported: images are given as base64; addresses and files are not fetched`,
    );
  }
  const mediaType = source.requiredText('media_type');
  if (!MEDIA_TYPES.includes(mediaType))
    throw invalid(source.at('media_type'), `expected one of ${MEDIA_TYPES.join(', ')}`);
  const data = source.requiredText('data');
  source.end();
  return `data:${mediaType};base64,${data}`;
}

function unknownBlock(block: Fields, type: string, expected: string): Error {
  return unsupported(
    block.at('type'),
    `blocks of type "${type}" are not supported here; expected ${expected}`,
  );
}

function closed(block: Fields): void {
  block.note('cache_control');
  block.end();
}
