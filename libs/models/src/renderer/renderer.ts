import { setImmediate } from 'node:timers/promises';
import { ModelError } from '../errors';
import type { ChatMessage, ChatTemplate } from '../chat';
import type { Family } from '../families/base';
import { asShownTogether, type ImageProcessor, type MeasuredImage, type ProcessedImage } from '../image';
import { IncrementalDecoder, type Tokenizer } from '../tokenizer';
import { answerFrame, withoutLead, type AnswerFrame } from './answer-frame';
import { chatControlTokens } from './chat-control';
import { ControlTokens } from './control-tokens';
import { ImageExpansion } from './image-expansion';
import { imagesOf, numberImages, type NumberedMessage } from './images';
import { assertPlaceholders } from './placeholders';
import { PromptEncoder } from './prompt-encoder';

/** What a renderer needs of a model folder. */
export interface RendererParts {
  tokenizer: Tokenizer;
  chat: ChatTemplate;
  imageProcessor: Pick<ImageProcessor, 'measure'>;
  family: Pick<Family, 'imageText' | 'finishPrompt' | 'imageMarks'> & { shape: { imageTokenId: number } };
}

export interface RendererOptions {
  /** JSON schemas of tools, for the chat template. */
  tools?: readonly object[];
}

/** How a prompt is rendered for a caller. */
export interface PromptOptions {
  /** JSON schemas for the chat template; default: those of the renderer. */
  tools?: readonly object[] | undefined;
  /** Tokens that the prompt may have. Default: any number. */
  most?: number;
  /** Aborts when nobody waits for the prompt. */
  signal?: AbortSignal | undefined;
}

/** An image that a prompt shows: measured, or processed. */
type Shown<I> = MeasuredImage & { amongOthers?: I };

/** A prompt ready for the model. */
export interface RenderedPrompt<I = ProcessedImage> {
  /** One placeholder per image feature. */
  tokenIds: number[];
  /** In order of their placeholders. */
  images: I[];
  /** Σ placeholders = Σ features of the images. */
  imageTokens: number;
}

/** A prompt with its response, to train on or to score. */
export interface RenderedSample<I = ProcessedImage> extends RenderedPrompt<I> {
  /** [T], 1 for tokens of the response, end-of-turn token included. */
  mask: Uint8Array;
  /** Where the response begins. */
  promptTokens: number;
}

/** A whole conversation, to score. */
export interface RenderedConversation<I = ProcessedImage> extends RenderedPrompt<I> {
  /** [T], 1 for tokens an assistant message consists of, end-of-turn token included. */
  assistantMask: Uint8Array;
}

/** Turns conversations into token ids and images. */
export class Renderer {
  private readonly imageTokenId: number;
  private readonly control: ControlTokens;
  private readonly expansion: ImageExpansion;
  private readonly encoder: PromptEncoder;
  private readonly frame: AnswerFrame;

  /** @throws ModelError `bad-config` when the tokenizer lacks the model's image token. */
  constructor(
    private readonly parts: RendererParts,
    private readonly options: RendererOptions = {},
  ) {
    this.imageTokenId = parts.family.shape.imageTokenId;
    const imageToken = parts.tokenizer.tokenOf(this.imageTokenId);
    if (imageToken === undefined) {
      throw new ModelError(
        'bad-config',
        `the model's image token ${this.imageTokenId} (image_token_id in config.json) is not among the ${parts.tokenizer.vocabSize} tokens of the tokenizer: do both belong to the same model?`,
      );
    }
    const marks = [imageToken, ...parts.family.imageMarks];
    this.control = new ControlTokens(parts.tokenizer, chatControlTokens(parts.chat, parts.tokenizer, marks));
    this.encoder = new PromptEncoder(parts.tokenizer, this.control);
    this.frame = answerFrame(parts.chat, parts.tokenizer);
    this.expansion = new ImageExpansion(this.control, parts.family, imageToken, parts.tokenizer);
  }

  /**
   * The prompt of a conversation, up to the beginning of the assistant's answer.
   *
   * @param images all images of the conversation; image parts name theirs by index, or stand in the same order.
   * @throws ModelError `bad-input` when messages and images do not fit.
   */
  render<I extends Shown<I>>(messages: readonly ChatMessage[], images: readonly I[]): RenderedPrompt<I> {
    const numbered = numberImages(messages, images.length);
    return this.renderNumbered(
      numbered,
      imagesOf(numbered).map((index) => images[index]),
    );
  }

  /** Messages as the chat template is given them, every image part numbered among `images`. */
  templateMessages(messages: readonly ChatMessage[], images: number): NumberedMessage[] {
    return withoutLead(numberImages(messages, images), this.frame.lead);
  }

  /**
   * {@link render} from encoded images, which are measured only. A text that comes again, such as a turn of a longer conversation, is not
   * tokenized again, and of a prompt that is too long no more than shows it.
   *
   * @throws ModelError `too-long` where the prompt has more tokens than it may; the reason of the signal, where that aborts
   */
  async renderPngs(
    messages: readonly ChatMessage[],
    pngs: readonly Uint8Array[],
    { tools = this.options.tools, most = Infinity, signal }: PromptOptions = {},
  ): Promise<RenderedPrompt<MeasuredImage>> {
    this.encoder.refuseLength(lengthOf(messages, tools), most);
    const numbered = numberImages(messages, pngs.length);
    const { imageProcessor } = this.parts;
    const images = await Promise.all(imagesOf(numbered).map((index) => imageProcessor.measure(pngs[index])));
    // Others get their turn between two prompts, and a caller who is gone is noticed.
    await setImmediate();
    signal?.throwIfAborted();
    return this.renderNumbered(numbered, images, true, tools, most);
  }

  /**
   * Token ids of a text in which special tokens are tokens.
   * @throws ModelError `too-long` where it has more tokens than it may
   */
  encodeText(text: string, most: number): number[] {
    this.encoder.refuseLength(text.length, most);
    return this.encoder.encode(text, most);
  }

  /** The prompt and a response as the sampler would emit it: the text's tokens and the end-of-turn token. */
  renderWithResponse<I extends Shown<I>>(
    messages: readonly ChatMessage[],
    images: readonly I[],
    response: string,
  ): RenderedSample<I> {
    return this.appendSampled(this.render(messages, images), this.responseIds(response));
  }

  /**
   * A conversation with its answers, as the chat template writes it. Each answer stands behind the prompt it would be
   * sampled after; where a template writes the last one differently at the end of a conversation, as it would be sampled.
   * An earlier answer that the template changes in hindsight (drops its reasoning, for example) has no mask.
   * @throws ModelError `bad-input` when messages and images do not fit.
   */
  renderConversation<I extends Shown<I>>(
    messages: readonly ChatMessage[],
    images: readonly I[],
  ): RenderedConversation<I> {
    const numbered = numberImages(messages, images.length);
    const shown = asShownTogether(imagesOf(numbered).map((index) => images[index]));
    const whole = this.renderNumbered(numbered, shown, false);
    const answers = numbered.flatMap(({ role, content }, index) =>
      role === 'assistant' ? [{ index, ids: this.responseIds(textOf(content)) }] : [],
    );
    const last = answers.at(-1);
    let { tokenIds } = whole;
    const assistantMask: number[] = tokenIds.map(() => 0);
    for (const { index, ids } of answers) {
      const before = numbered.slice(0, index);
      const prompt = this.renderNumbered(before, shown.slice(0, imagesOf(before).length)).tokenIds;
      const sampled = [...prompt, ...ids];
      if (!sampled.every((id, place) => id === tokenIds[place])) {
        if (index !== last?.index || index !== numbered.length - 1) continue;
        tokenIds = sampled;
        assistantMask.length = sampled.length;
      }
      assistantMask.fill(1, prompt.length, sampled.length);
    }
    const imageTokens = assertPlaceholders(tokenIds, shown, this.imageTokenId);
    return { tokenIds, images: shown, imageTokens, assistantMask: Uint8Array.from(assistantMask) };
  }

  /**
   * Tokens of a response text as they stand behind a prompt, end-of-turn token included. White space that the template writes
   * before answers belongs to the response, whether the text has it or not.
   */
  responseIds(response: string): number[] {
    const { prompt, lead, endOfTurnId } = this.frame;
    const text = this.control.markAnswer(response.startsWith(lead) ? response : lead + response);
    const before = this.control.encodeMarked(prompt);
    const whole = this.control.encodeMarked(prompt + text);
    const continues = before.every((id, place) => id === whole[place]);
    return [...(continues ? whole.slice(before.length) : this.control.encodeMarked(text)), endOfTurnId];
  }

  /**
   * Text of sampled tokens, as messages of the assistant are to say it. Special tokens that the model writes itself
   * (`<|box_start|>`) stand in it, and are the same tokens when the text is rendered again; those that control the chat, such as
   * the end of the turn, do not.
   */
  answerText(tokenIds: readonly number[]): string {
    return this.control.decodeAnswer(tokenIds);
  }

  /** {@link answerText} for tokens that arrive one by one. */
  answerDecoder(): IncrementalDecoder {
    return new IncrementalDecoder((tokenIds) => this.control.decodeAnswer(tokenIds));
  }

  /** The prompt and what was sampled after it. Nothing is tokenized again. */
  appendSampled<I>(prompt: RenderedPrompt<I>, sampledIds: readonly number[]): RenderedSample<I> {
    const at = sampledIds.indexOf(this.imageTokenId);
    if (at !== -1) {
      throw new ModelError(
        'bad-input',
        `token ${at} of the response is the image placeholder ${this.imageTokenId}, for which there is no image`,
      );
    }
    const promptTokens = prompt.tokenIds.length;
    const tokenIds = [...prompt.tokenIds, ...sampledIds];
    return { ...prompt, tokenIds, promptTokens, mask: new Uint8Array(tokenIds.length).fill(1, promptTokens) };
  }

  /** Tokens that the tokenizer puts before a text, where the template has not written the first of them itself. */
  private beginning(text: string): readonly number[] {
    const { beginningIds, namedTokens } = this.parts.tokenizer;
    const written = namedTokens.bos_token !== undefined && text.startsWith(namedTokens.bos_token);
    return written ? [] : beginningIds;
  }

  private renderNumbered<I extends Shown<I>>(
    messages: readonly NumberedMessage[],
    given: readonly I[],
    addGenerationPrompt = true,
    tools = this.options.tools,
    most = Infinity,
  ): RenderedPrompt<I> {
    const text = this.parts.chat.render(this.control.markMessages(withoutLead(messages, this.frame.lead)), {
      addGenerationPrompt,
      tools: tools && this.control.markTools(tools),
    });
    const images = asShownTogether(given);
    const expanded = this.expansion.expand(text, images);
    const beside = expanded.runs.reduce((sum, run) => sum + run - 1, 0);
    const ids = this.encoder.encode(expanded.text, most, beside);
    const tokenIds = [...this.beginning(text), ...repeatRuns(ids, expanded.runs, this.imageTokenId)];
    return { tokenIds, images, imageTokens: assertPlaceholders(tokenIds, images, this.imageTokenId) };
  }
}

/** Repeats each placeholder as often as its run is long. */
function repeatRuns(tokenIds: readonly number[], runs: readonly number[], imageTokenId: number): number[] {
  let next = 0;
  return tokenIds.flatMap((id) => (id === imageTokenId ? Array<number>(runs[next++]).fill(id) : [id]));
}

/** Characters of a conversation, before the template has written it. */
function lengthOf(messages: readonly ChatMessage[], tools: readonly object[] | undefined): number {
  const texts = messages
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : content.map(({ text = '' }) => text),
    )
    .reduce((sum, text) => sum + text.length, 0);
  return texts + (tools === undefined ? 0 : JSON.stringify(tools).length);
}

/** The text of an assistant message. */
function textOf(content: NumberedMessage['content']): string {
  if (content.some(({ type }) => type === 'image')) {
    throw new ModelError('bad-input', 'an assistant message holds an image; answers are text');
  }
  return content.map(({ text }) => text ?? '').join('');
}

/** The renderer of a model folder, see {@link Renderer}. */
export function makeRenderer(parts: RendererParts, options: RendererOptions = {}): Renderer {
  return new Renderer(parts, options);
}
