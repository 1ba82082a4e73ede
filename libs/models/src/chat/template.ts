import { join } from 'node:path';
import { createContext, Script } from 'node:vm';
import { Template } from '@huggingface/jinja';
import { LRUCache } from 'lru-cache';
import { ModelError } from '../errors';
import { readOptionalJson, readOptionalText } from '../json-file';
import type { ChatMessage, ContentPart } from './messages';

export interface ChatTemplateOptions {
  /** Ends with the header of an assistant message for the model to continue. */
  addGenerationPrompt: boolean;
  /** JSON schemas of the tools that the model may call. */
  tools?: readonly object[];
  /** Additional template variables, such as `enable_thinking`. */
  variables?: Record<string, unknown>;
}

/** Locations of a folder's template, in the order in which AutoProcessor of transformers 5 tries them. */
const places = [
  'processor_config.json',
  'chat_template.json',
  'chat_template.jinja',
  'tokenizer_config.json',
];

/** The variable that templates of reasoning models, such as Qwen3's, read. */
const THINKING = 'enable_thinking';

/**
 * Cache size in characters of conversations and their renderings: short ones repeat, one for each screen of a task.
 */
const KEPT_CHARACTERS = 4 * 2 ** 20;

/** Renders conversations as text with the Jinja template of a model folder (`apply_chat_template`). */
export class ChatTemplate {
  /** Whether the template contains a token's text anywhere. */
  readonly mentions: (token: string) => boolean;

  private readonly template: Template;
  private readonly rendered: LRUCache<string, string> | undefined;

  /**
   * @param source Jinja text of the template.
   * @param namedTokens tokens such as `eos_token`, which templates may reference.
   * @param origin where the template comes from, for messages.
   * @param defaults values of additional variables, see {@link ChatTemplateOptions.variables}.
   * @throws ModelError `bad-file` if the template cannot be parsed.
   */
  constructor(
    private readonly source: string,
    private readonly namedTokens: Readonly<Record<string, string>> = {},
    private readonly origin = 'chat template',
    private readonly defaults: Readonly<Record<string, unknown>> = {},
  ) {
    this.mentions = (token) => source.includes(token);
    try {
      this.template = inTime(() => new Template(source));
    } catch (cause) {
      throw new ModelError('bad-file', `${origin} cannot be parsed: ${messageOf(cause)}`, { cause });
    }
    // A template that prints the date has no fixed result.
    if (!source.includes('strftime_now')) {
      const sizeCalculation = (text: string, key: string): number => text.length + key.length;
      this.rendered = new LRUCache({ maxSize: KEPT_CHARACTERS, sizeCalculation });
    }
  }

  /**
   * Reads the first template among {@link places}.
   * @throws ModelError `missing-file` if the folder has none, `bad-file` if none of a file's templates is the
   *   default.
   */
  static async load(dir: string, namedTokens: Readonly<Record<string, string>> = {}): Promise<ChatTemplate> {
    for (const name of places) {
      const file = join(dir, name);
      const source = name.endsWith('.jinja')
        ? await readOptionalText(file)
        : templateOf(await readOptionalJson(file), file);
      if (source !== undefined) return new ChatTemplate(source, namedTokens, file);
    }
    throw new ModelError(
      'missing-file',
      `${dir} has no chat template: expected chat_template.jinja, or "chat_template" in processor_config.json, ` +
        'chat_template.json or tokenizer_config.json',
    );
  }

  /**
   * The same template with reasoning enabled or disabled (`enable_thinking`).
   * @throws ModelError `unsupported` if the template has no such switch
   */
  thinking(isWanted: boolean): ChatTemplate {
    if (!this.mentions(THINKING)) {
      throw new ModelError(
        'unsupported',
        `${this.origin} has no variable ${THINKING}: it writes the same prompts with and without reasoning`,
      );
    }
    return new ChatTemplate(this.source, this.namedTokens, this.origin, {
      ...this.defaults,
      [THINKING]: isWanted,
    });
  }

  /**
   * The conversation as text, with one placeholder per image.
   * @throws ModelError `bad-input` with the template's own message if it rejects the conversation.
   */
  render(
    messages: readonly ChatMessage[],
    { addGenerationPrompt, tools, variables }: ChatTemplateOptions,
  ): string {
    const values = {
      ...this.namedTokens,
      ...this.defaults,
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

/** Templates are untrusted programs: some never end. */
const ATTEMPT_MS = 2_500;
const call = new Script('run()');
const context = createContext({ run: () => undefined as unknown });

/**
 * Runs a template, and throws if it exceeds the time limit twice. The limit counts wall-clock time, so a machine
 * that was suspended or starved for seconds exceeds it once with any template.
 */
function inTime<T>(run: () => T): T {
  context.run = run;
  const attempt = (): T => call.runInContext(context, { timeout: ATTEMPT_MS }) as T;
  try {
    return attempt();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
    return attempt();
  }
}

/** Templates test for the presence of keys (`'image' in part`), so undefined keys must be omitted. */
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

/** `chat_template` of a JSON file: a text, or named templates, in an object or a list, of which `default` is used. */
function templateOf(json: Record<string, unknown> | undefined, file: string): string | undefined {
  const template = json?.chat_template;
  if (template === undefined || template === null) return undefined;
  if (typeof template === 'string') return template;
  const named = templatesByName(template);
  if (typeof named.default === 'string') return named.default;
  throw new ModelError(
    'bad-file',
    `${file}: "chat_template" has ${Object.keys(named).join(', ') || 'no template'}; expected a text, or one that is named "default"`,
  );
}

function templatesByName(template: unknown): Record<string, unknown> {
  if (!Array.isArray(template)) return typeof template === 'object' ? { ...template } : {};
  const list = template as ({ name?: unknown; template?: unknown } | null)[];
  return Object.fromEntries(list.map((one) => [String(one?.name), one?.template]));
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
