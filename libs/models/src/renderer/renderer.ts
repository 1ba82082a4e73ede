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
import { promptText } from './prompt-text';
import { ToolImages } from './tool-images';

/** The parts of a model folder that a renderer needs. */
export interface RendererParts {
  tokenizer: Tokenizer;
  chat: ChatTemplate;
  imageProcessor: Pick<ImageProcessor, 'measure'>;
  family: Pick<Family, 'imageText' | 'finishPrompt' | 'imageMarks' | 'templateImage'> & {
    shape: { imageTokenId: number };
  };
}

export interface RendererOptions {
  /** JSON schemas of tools, for the chat template. */
  tools?: readonly object[];
}

/** How a prompt is rendered for a caller. */
export interface PromptOptions {
  /** JSON schemas for the chat template. Default: those of the renderer. */
  tools?: readonly object[] | undefined;
  /** Maximum number of prompt tokens. Default: unlimited. */
  most?: number;
  /** Aborts the rendering. */
  signal?: AbortSignal | undefined;
}

/** An image of a prompt: measured, or processed. */
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
  /** [T], 1 for tokens of the response, including the end-of-turn token. */
  mask: Uint8Array;
  /** Number of tokens before the response. */
  promptTokens: number;
}

/** A whole conversation, to score. */
export interface RenderedConversation<I = ProcessedImage> extends RenderedPrompt<I> {
  /** [T], 1 for tokens of assistant messages, including the end-of-turn token. */
  assistantMask: Uint8Array;
}

/** Converts conversations to token ids and images. */
export class Renderer {
  private readonly imageTokenId: number;
  private readonly control: ControlTokens;
  private readonly expansion: ImageExpansion;
  private readonly toolImages: ToolImages;
  private readonly encoder: PromptEncoder;
  private readonly frame: AnswerFrame;

  /** @throws ModelError `bad-config` if the tokenizer lacks the model's image token. */
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
    this.toolImages = new ToolImages(parts.chat, parts.family.templateImage ?? imageToken);
    this.expansion = new ImageExpansion(this.control, parts.family, imageToken, parts.tokenizer);
  }

  /**
   * The prompt of a conversation, up to the start of the assistant's answer.
   *
   * @param images all images of the conversation; image parts refer to them by index, or are in the same order.
   * @throws ModelError `bad-input` if messages and images do not match.
   */
  render<I extends Shown<I>>(messages: readonly ChatMessage[], images: readonly I[]): RenderedPrompt<I> {
    const numbered = numberImages(messages, images.length);
    return this.renderNumbered(
      numbered,
      imagesOf(numbered).map((index) => images[index]),
    );
  }

  /** Messages in the chat template's form, with every image part numbered among `images`. */
  templateMessages(messages: readonly ChatMessage[], images: number): NumberedMessage[] {
    return withoutLead(numberImages(messages, images), this.frame.lead);
  }

  /**
   * {@link render} from encoded images, of which only the size is read. Repeated texts, such as the turns of a longer
   * conversation, are not tokenized again, and tokenization of a prompt that is too long stops early.
   *
   * @throws ModelError `too-long` if the prompt exceeds the token limit; the reason of the signal if it aborts
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
    // Yields between two prompts, so that other work runs and an abort is noticed.
    await setImmediate();
    signal?.throwIfAborted();
    return this.renderNumbered(numbered, images, true, tools, most);
  }

  /**
   * Token ids of a text in which special tokens are recognized.
   * @throws ModelError `too-long` if it exceeds the token limit
   */
  encodeText(text: string, most: number): number[] {
    this.encoder.refuseLength(text.length, most);
    return this.encoder.encode(text, most);
  }

  /** The prompt and a response as the sampler would produce it: the text's tokens and the end-of-turn token. */
  renderWithResponse<I extends Shown<I>>(
    messages: readonly ChatMessage[],
    images: readonly I[],
    response: string,
  ): RenderedSample<I> {
    return this.appendSampled(this.render(messages, images), this.responseIds(response));
  }

  /**
   * A conversation with its answers, as the chat template writes it. Each answer follows the prompt after which it
   * would be sampled; the last one has the form of a sample, if a template writes it differently at the end of a
   * conversation. An earlier answer that the template changes afterwards (drops its reasoning, for example) has no
   * mask.
   * @throws ModelError `bad-input` if messages and images do not match.
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
   * Tokens of a response text after a prompt, including the end-of-turn token. White space that the template writes
   * before answers is part of the response, whether or not the text contains it.
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
   * Text of sampled tokens for an assistant message. Special tokens that the model writes itself (`<|box_start|>`)
   * remain in it, and rendering the text gives the same tokens; those that control the chat, such as the end of the
   * turn, are removed.
   */
  answerText(tokenIds: readonly number[]): string {
    return this.control.decodeAnswer(tokenIds);
  }

  /** The text that each sampled token adds to {@link answerText}. */
  answerTexts(tokenIds: readonly number[]): string[] {
    const decoder = this.answerDecoder();
    const texts = tokenIds.map((id) => decoder.push(id));
    if (texts.length > 0) texts[texts.length - 1] += decoder.flush();
    return texts;
  }

  /** Text of a prompt for readers, see `PolicyActReply.promptText`. */
  promptText(tokenIds: readonly number[]): string {
    return promptText(tokenIds, this.imageTokenId, (ids) => this.parts.tokenizer.decode(ids));
  }

  /** {@link answerText} for a stream of tokens. */
  answerDecoder(): IncrementalDecoder {
    return new IncrementalDecoder((tokenIds) => this.control.decodeAnswer(tokenIds));
  }

  /** The prompt and the tokens sampled after it, without tokenizing again. */
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

  /** Tokens that the tokenizer prepends to a text, unless the template has already written the first of them. */
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
    const marked = this.control.markMessages(withoutLead(messages, this.frame.lead));
    const written = this.parts.chat.render(this.toolImages.mark(marked), {
      addGenerationPrompt,
      tools: tools && this.control.markTools(tools),
    });
    const text = this.toolImages.show(written);
    const images = asShownTogether(given);
    const expanded = this.expansion.expand(text, images);
    const beside = expanded.runs.reduce((sum, run) => sum + run - 1, 0);
    const ids = this.encoder.encode(expanded.text, most, beside);
    const tokenIds = [...this.beginning(text), ...repeatRuns(ids, expanded.runs, this.imageTokenId)];
    return { tokenIds, images, imageTokens: assertPlaceholders(tokenIds, images, this.imageTokenId) };
  }
}

/** Repeats each placeholder to the length of its run. */
function repeatRuns(tokenIds: readonly number[], runs: readonly number[], imageTokenId: number): number[] {
  let next = 0;
  return tokenIds.flatMap((id) => (id === imageTokenId ? Array<number>(runs[next++]).fill(id) : [id]));
}

/** Characters of a conversation, before rendering. */
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
