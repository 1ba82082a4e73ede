import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { Template } from '@huggingface/jinja';
import { LRUCache } from 'lru-cache';
import { ModelError } from '../errors';
import { readOptionalJson, readOptionalText } from '../optional-file';
import type { ChatMessage, ContentPart } from './messages';

export interface ChatTemplateOptions {
  /** Ends with the head of an assistant message, for the model to go on. */
  addGenerationPrompt: boolean;
  /** JSON schemas of tools the model may call. */
  tools?: readonly object[];
  /** Further variables of the template, such as `enable_thinking`. */
  variables?: Record<string, unknown>;
}

/** Characters of conversations and of what was made of them: short ones come again and again, one for each screen of a task. */
const KEPT_CHARACTERS = 4 * 2 ** 20;

/** The text a model expects for a conversation, by the Jinja template of its folder (`apply_chat_template`). */
export class ChatTemplate {
  private readonly template: Template;
  private readonly rendered: LRUCache<string, string> | undefined;

  /**
   * @param source Jinja text of the template.
   * @param namedTokens `eos_token` and its like, which templates may name.
   * @param origin where the template comes from, for messages.
   * @throws ModelError `bad-file` when the template cannot be parsed.
   */
  constructor(
    source: string,
    private readonly namedTokens: Readonly<Record<string, string>> = {},
    private readonly origin = 'chat template',
  ) {
    try {
      this.template = inTime(() => new Template(source));
    } catch (cause) {
      throw new ModelError('bad-file', `${origin} cannot be parsed: ${messageOf(cause)}`, { cause });
    }
    // What tells the date is another text tomorrow.
    if (!source.includes('strftime_now')) {
      const sizeCalculation = (text: string, key: string): number => text.length + key.length;
      this.rendered = new LRUCache({ maxSize: KEPT_CHARACTERS, sizeCalculation });
    }
  }

  /**
   * Reads `chat_template.jinja`, else `chat_template.json`, else `chat_template` of `tokenizer_config.json`.
   * @throws ModelError `missing-file` when the folder has none of them.
   */
  static async load(dir: string, namedTokens: Readonly<Record<string, string>> = {}): Promise<ChatTemplate> {
    const jinja = await readOptionalText(join(dir, 'chat_template.jinja'));
    if (jinja !== undefined) return new ChatTemplate(jinja, namedTokens, join(dir, 'chat_template.jinja'));
    for (const name of ['chat_template.json', 'tokenizer_config.json']) {
      const source = templateOf(await readOptionalJson(join(dir, name)));
      if (source !== undefined) return new ChatTemplate(source, namedTokens, join(dir, name));
    }
    throw new ModelError(
      'missing-file',
      `${dir} has no chat template: expected chat_template.jinja, chat_template.json or "chat_template" in tokenizer_config.json`,
    );
  }

  /**
   * The conversation as text, one placeholder per image.
   * @throws ModelError `bad-input` with the template's own words when it refuses the conversation.
   */
  render(
    messages: readonly ChatMessage[],
    { addGenerationPrompt, tools, variables }: ChatTemplateOptions,
  ): string {
    const values = {
      ...this.namedTokens,
      ...variables,
      messages: messages.map(plainMessage),
      tools: tools ?? null,
      documents: null,
      add_generation_prompt: addGenerationPrompt,
    };
    const key = JSON.stringify(values);
    const known = this.rendered?.get(key);
    if (known !== undefined) return known;
    try {
      const text = inTime(() => this.template.render(values));
      this.rendered?.set(key, text);
      return text;
    } catch (cause) {
      throw new ModelError('bad-input', `${this.origin} refuses the conversation: ${messageOf(cause)}`, {
        cause,
      });
    }
  }
}

/** Templates are programs of whoever made the model: some never end. */
const LONGEST_MS = 5_000;
const call = new Script('run()');
const context = createContext({ run: () => undefined as unknown });

/** Runs it, and throws where it does not end in time. */
function inTime<T>(run: () => T): T {
  context.run = run;
  return call.runInContext(context, { timeout: LONGEST_MS }) as T;
}

/** Templates ask whether a key is there (`'image' in part`), so no key may be there in vain. */
function plainMessage({ role, content, tool_calls: toolCalls }: ChatMessage): Record<string, unknown> {
  return {
    role,
    content: typeof content === 'string' ? content : content.map(plainPart),
    ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
  };
}

function plainPart({ type, text }: ContentPart): Record<string, unknown> {
  return type === 'image' ? { type } : { type, text: text ?? '' };
}

/** `chat_template` of a JSON file: a text, or a list of named ones of which `default` is taken. */
function templateOf(json: Record<string, unknown> | undefined): string | undefined {
  const template = json?.chat_template;
  if (typeof template === 'string') return template;
  if (!Array.isArray(template)) return undefined;
  const named = template as { name?: string; template?: string }[];
  return named.find(({ name }) => name === 'default')?.template;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
