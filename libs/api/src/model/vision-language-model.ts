import { dialects, type Action, type Dialect } from '@ui-rl/actions';
import type { ImageSize, PolicyActReply, PolicyActRequest } from '@ui-rl/contracts';
import { byToken, datumOf, LocalEngine, shareReporter, weightsOf } from '@ui-rl/engine';
import { actReply, EpisodeFailure, isFaultOfRequest, type Policy } from '@ui-rl/episode';
import {
  imageSize,
  loadModelFolder,
  makeRenderer,
  ModelError,
  type ModelFolder,
  type ProcessedImage,
  type RenderedPrompt,
  type Renderer,
  promptChunks,
} from '@ui-rl/models';
import type { SampleRequest, SampleResult } from '@ui-rl/plugin-kit';
import { readCliSettings } from '@ui-rl/settings';
import { conversationOf, type Conversation, type Screen } from './conversation';
import { deviceFor, type EngineChoice } from './engine-choice';
import { chooseModel, type ModelChoice } from './model-choice';

export interface LoadOptions extends Omit<ModelChoice, 'model'>, Partial<EngineChoice> {
  /**
   * Longest sequence, prompt and answer together, in tokens. Default: 4,096, or more if the first question needs it.
   */
  maxSequence?: number;
  /** Number of questions to answer at the same time; others wait. Default 4. */
  rows?: number;
  /** Aborts downloads. */
  signal?: AbortSignal;
  /** Called with a line before each slow operation. */
  onProgress?: (line: string) => void;
}

export interface SampleOptions {
  /** Default 256. */
  maxTokens?: number;
  /** 0, the default, always takes the most likely token. */
  temperature?: number;
  topP?: number;
  /** The same seed gives the same answer. */
  seed?: number;
}

/** A sampled answer. */
export interface Answer {
  /** Includes the end-of-turn token, if any. */
  token_ids: number[];
  /** Under softmax(logits / temperature), at temperature 1 for greedy decoding. */
  logprobs: number[];
  text: string;
  finish_reason: 'stop' | 'length';
  prompt_token_ids: number[];
}

/** An answer with the actions that it contains. */
export interface Prediction extends Answer {
  /** In pixels of the screenshot; empty if the answer cannot be parsed. */
  actions: Action[];
  /** Why the answer cannot be parsed. */
  parse_error?: string;
}

/** Log-probabilities of a conversation, token by token. */
export interface Scores {
  token_ids: number[];
  /** 1 for the tokens of assistant messages, including the end-of-turn token. */
  assistant_mask: number[];
  /** Log-probability of each token given all previous ones; null for the first. */
  logprobs: (number | null)[];
  /** Number of tokens of each image, in order. */
  image_tokens: number[];
}

const MAX_SEQUENCE = 4096;
const ROWS = 4;
const MODEL = 'policy';

/**
 * A vision-language model on this machine, with or without an adapter, for inference only. It can play episodes as a
 * policy; concurrent questions are answered as one batch.
 */
export class VisionLanguageModel implements Policy {
  private engine: Promise<LocalEngine> | undefined;
  private readonly dialect: Dialect = dialects.json;

  private constructor(
    private readonly folder: ModelFolder,
    private readonly adapterDir: string | undefined,
    private readonly options: LoadOptions & { onProgress: (line: string) => void },
  ) {}

  /**
   * Fetches the model to this machine and loads it.
   * @param model Hugging Face folder, `organisation/name[@revision]` on the hub, or a name in `UIRL_MODELS`,
   *   including `small`;
   *   may be undefined if a checkpoint or adapter names it
   */
  static async load(model: string | undefined, options: LoadOptions = {}): Promise<VisionLanguageModel> {
    const { adapter, checkpoint, signal, dtype = 'auto', onProgress = () => undefined } = options;
    const chosen = await chooseModel({ model, adapter, checkpoint }, { signal, onProgress });
    const onCopy = shareReporter(onProgress, 'a copy of the weights in another type is made');
    const { cacheDir } = readCliSettings();
    const folder = await loadModelFolder(chosen.modelDir, { weights: dtype, cacheDir, onProgress: onCopy });
    return new VisionLanguageModel(folder, chosen.adapterDir, { ...options, onProgress });
  }

  /** Predicts the next actions on a screen, or answers a conversation and reads the actions in the answer. */
  async predict(input: Screen | Conversation, options: SampleOptions = {}): Promise<Prediction> {
    const isScreen = 'screenshot' in input;
    const shown = isScreen ? input.screenshot : input.images.at(-1);
    if (shown === undefined)
      throw new Error('the conversation has no image: actions are pixels of the last one');
    const { imageProcessor } = this.folder;
    const size = await imageSize(shown);
    const sizes = { screenshot: size, modelImage: imageProcessor.shownSize(size) };
    const asked = isScreen ? conversationOf(input, this.dialect, sizes) : input;
    const answer = await this.generate(asked, options);
    const read = this.dialect.parse(answer.text, sizes);
    return read.ok
      ? { ...answer, actions: read.actions }
      : { ...answer, actions: [], parse_error: `${read.reason}: ${read.correction}` };
  }

  /** Answers a conversation. @throws if the last message is the assistant's */
  async generate(conversation: Conversation, options: SampleOptions = {}): Promise<Answer> {
    const { messages, source = 'the conversation' } = conversation;
    const { maxTokens = 256, temperature = 0, topP = 1, seed = 0 } = options;
    if (messages.at(-1)?.role === 'assistant') {
      throw new Error(`${source}: the last message is the assistant's; expected one that is to be answered`);
    }
    const prompt = this.renderer.render(messages, await this.imagesOf(conversation));
    const result = await this.sample(prompt, { maxTokens, temperature, topP, seed });
    return {
      token_ids: result.tokens,
      logprobs: result.logprobs,
      text: this.textOf(result),
      finish_reason: result.stopReason,
      prompt_token_ids: prompt.tokenIds,
    };
  }

  /** The size to which the model scales a screenshot of this size. */
  async modelImage(screenshot: ImageSize): Promise<ImageSize> {
    return this.folder.imageProcessor.shownSize(screenshot);
  }

  /** Answers one turn of an episode. @throws EpisodeFailure if the model cannot take the prompt */
  async act({ messages, images, ...request }: PolicyActRequest): Promise<PolicyActReply> {
    try {
      const shown = await this.imagesOf({ images: images as Uint8Array[], source: request.requestId });
      const prompt = this.renderer.render(messages, shown);
      const result = await this.sample(prompt, request);
      const reply = actReply(prompt, result, { text: this.textOf(result), policyVersion: 0 });
      if (request.tokenTexts === true) {
        reply.tokenTexts = this.renderer.answerTexts(result.tokens);
        reply.promptText = this.renderer.promptText(prompt.tokenIds);
      }
      return reply;
    } catch (error) {
      if (error instanceof ModelError || isFaultOfRequest(error))
        throw new EpisodeFailure('bad_request', error.message);
      throw error;
    }
  }

  /**
   * The reply to a turn as if the model had answered this text. Nothing is computed: all log-probabilities are 0.
   *
   * @param sampled tokens that a model sampled with their log-probabilities: taken if they are this text in this model
   */
  async answered(
    { messages, images, requestId }: PolicyActRequest,
    text: string,
    sampled?: Pick<SampleResult, 'tokens' | 'logprobs'>,
  ): Promise<PolicyActReply> {
    const shown = await this.imagesOf({ images: images as Uint8Array[], source: requestId });
    const prompt = this.renderer.render(messages, shown);
    const isKept = sampled !== undefined && this.says(sampled.tokens, text);
    const { tokens, logprobs } = isKept ? sampled : this.tokensOf(messages, shown, prompt, text);
    const result = { tokens, logprobs, stopReason: 'stop' as const, digest: '' };
    return actReply(prompt, result, { text, policyVersion: 0 });
  }

  /** Whether tokens are a text in this model. */
  says(tokens: readonly number[], text: string): boolean {
    const { vocabSize } = this.folder.family.shape;
    const isKnown = tokens.every((token) => Number.isInteger(token) && token >= 0 && token < vocabSize);
    return tokens.length > 0 && isKnown && this.renderer.answerText(tokens) === text;
  }

  private tokensOf(
    messages: PolicyActRequest['messages'],
    images: ProcessedImage[],
    prompt: RenderedPrompt,
    text: string,
  ): Pick<SampleResult, 'tokens' | 'logprobs'> {
    const answer = { role: 'assistant' as const, content: [{ type: 'text' as const, text }] };
    const { tokenIds, assistantMask } = this.renderer.renderConversation([...messages, answer], images);
    const first = prompt.tokenIds.length;
    const tokens = tokenIds.filter((_, place) => place >= first && assistantMask[place] === 1);
    return { tokens, logprobs: tokens.map(() => 0) };
  }

  private async sample(
    { tokenIds, images }: RenderedPrompt,
    {
      maxTokens,
      temperature,
      topP,
      topK = 0,
      seed,
      grammar,
    }: Required<SampleOptions> & Pick<SampleRequest, 'topK' | 'grammar'>,
  ): Promise<SampleResult> {
    const engine = await this.started(tokenIds.length + maxTokens);
    const constrained = grammar === undefined ? {} : { grammar };
    const prompt = { chunks: promptChunks(tokenIds, images, this.imageTokenId) };
    return engine.sample({ model: MODEL, prompt, maxTokens, temperature, topP, topK, seed, ...constrained });
  }

  private textOf({ tokens }: SampleResult): string {
    return this.renderer.answerText(tokens);
  }

  /** Log-probabilities of a conversation, token by token, as training computes them. */
  async score(conversation: Conversation): Promise<Scores> {
    const images = await this.imagesOf(conversation);
    const rendered = this.renderer.renderConversation(conversation.messages, images);
    const { tokenIds, assistantMask } = rendered;
    const engine = await this.started(tokenIds.length);
    const mask = new Uint8Array(tokenIds.length).fill(1, 1);
    const datum = datumOf({ tokenIds, images: rendered.images, mask }, { imageTokenId: this.imageTokenId });
    const { logprobs } = await engine.forward({ model: MODEL, data: [datum] });
    return {
      token_ids: tokenIds,
      assistant_mask: Array.from(assistantMask),
      logprobs: Array.from(byToken(logprobs[0]), (each, place) => (place === 0 ? null : each)),
      image_tokens: rendered.images.map(({ tokens }) => tokens),
    };
  }

  /** Releases the device. */
  async stop(): Promise<void> {
    const engine = await this.engine?.catch(() => undefined);
    await engine?.stop();
  }

  private get imageTokenId(): number {
    return this.folder.family.shape.imageTokenId;
  }

  private get renderer(): Renderer {
    return makeRenderer(this.folder);
  }

  private async imagesOf({
    images,
    source = 'the conversation',
  }: Omit<Conversation, 'messages'>): Promise<ProcessedImage[]> {
    const processed: ProcessedImage[] = [];
    for (const [index, image] of images.entries()) {
      processed.push(
        await this.folder.imageProcessor.process(image).catch((cause: unknown) => {
          const reason = cause instanceof Error ? cause.message : String(cause);
          throw new Error(`${source}: image ${index}: ${reason}`, { cause });
        }),
      );
    }
    return processed;
  }

  /** Starts the engine on first use, with memory for the given number of tokens. */
  private started(tokens: number): Promise<LocalEngine> {
    const maxSequence = Math.max(tokens, this.options.maxSequence ?? MAX_SEQUENCE);
    // The next call retries after a failure.
    this.engine ??= this.start(maxSequence).catch((error: unknown) => {
      this.engine = undefined;
      throw error;
    });
    return this.engine;
  }

  private async start(maxSequence: number): Promise<LocalEngine> {
    const { device = 'auto', dtype = 'auto', quantization = 'none', rows = ROWS, onProgress } = this.options;
    return LocalEngine.start({
      modelDir: this.folder.dir,
      cacheDir: readCliSettings().cacheDir,
      imageProcessor: this.folder.imageProcessor,
      device: await deviceFor(device, onProgress),
      weights: dtype,
      quantization,
      models: [
        { name: MODEL, role: 'policy', trainable: await weightsOf(this.folder.family, this.adapterDir) },
      ],
      maxRows: rows,
      maxSequence,
      seed: 0,
      onProgress,
    });
  }
}
