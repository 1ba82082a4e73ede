import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { failure, isFailure } from '@ui-rl/bus';
import type {
  ImageSize,
  PolicyActReply,
  PolicyActRequest,
  PolicyPrompt,
  RequestFailure,
} from '@ui-rl/contracts';
import { actReply, isFaultOfRequest } from '@ui-rl/episode';
import {
  ModelError,
  type ImageProcessor,
  promptChunks,
  type MeasuredImage,
  type RenderedPrompt,
  type Renderer,
} from '@ui-rl/models';
import type { SampleClass, Sampler } from '@ui-rl/plugin-kit';
import { conversationOf, episodeOf } from './conversation';
import { Patience } from './patience';
import type { PolicyWeights } from './policy-weights';
import { lackOfRoom, lackOfRoomIn, mostOfPrompt } from './room';
import type { Screenshots } from './screenshots';

export type Refusal = { ok: false; error: RequestFailure };
type ActReply = PolicyActReply | Refusal;
type Prompt = RenderedPrompt<MeasuredImage>;

export interface PolicyServerParts {
  sampler: Sampler;
  weights: PolicyWeights;
  renderer: Renderer;
  screenshots: Screenshots;
  imageTokenId: number;
  /** Prompt and answer together, in tokens. */
  maxSequence: number;
  imageProcessor: Pick<ImageProcessor, 'shownSize'>;
}

const MAX_CACHED_REPLIES = 1024;

/** An answer, complete or in progress, with its callers. */
interface Asked {
  reply: Promise<ActReply>;
  patience: Patience;
}

/** Answers for the policy: messages → prompt → tokens. */
export class PolicyServer {
  private readonly replies = new LRUCache<string, Asked>({ max: MAX_CACHED_REPLIES });

  constructor(private readonly parts: PolicyServerParts) {}

  /** Size of such a screenshot as the model sees it. */
  modelImage(screenshot: ImageSize): ImageSize | Refusal {
    try {
      return this.parts.imageProcessor.shownSize(screenshot);
    } catch (error) {
      if (error instanceof ModelError) return failure('bad_request', error.message);
      throw error;
    }
  }

  async countTokens(request: PolicyPrompt): Promise<number | Refusal> {
    const prompt = await this.promptOf(request);
    return isFailure(prompt) ? prompt : prompt.tokenIds.length;
  }

  /** A repeated request with the same id and prompt gets the same answer. */
  async act(request: PolicyActRequest): Promise<ActReply> {
    const prompt = await this.promptOf(request);
    if (isFailure(prompt)) return prompt;
    const key = replyKey(request, prompt);
    const asked = this.replies.get(key) ?? this.ask(key, request, prompt);
    asked.patience.wait(request.waitMs);
    return asked.reply;
  }

  /** Refuses a prompt that leaves no capacity for an answer. */
  private async promptOf({ messages, images, tools }: PolicyPrompt): Promise<Prompt | Refusal> {
    const { screenshots, renderer, maxSequence } = this.parts;
    const pngs = await screenshots.pngsOf(images);
    if ('missing' in pngs) {
      return failure('unknown_image', `screenshot ${pngs.missing} is neither in memory nor among the blobs`);
    }
    try {
      const prompt = await renderer.renderPngs(messages, pngs, { tools, most: mostOfPrompt(maxSequence) });
      const lack = lackOfRoom(prompt.tokenIds.length, maxSequence);
      return lack === undefined ? prompt : failure('prompt_too_long', lack);
    } catch (error) {
      const lack = lackOfRoomIn(error, maxSequence);
      if (lack !== undefined) return failure('prompt_too_long', lack);
      if (error instanceof ModelError) return failure('bad_request', error.message);
      throw error;
    }
  }

  /** Does not cache failures. */
  private ask(key: string, request: PolicyActRequest, prompt: Prompt): Asked {
    const patience = new Patience();
    const reply = this.answer(request, prompt, patience.signal).finally(() => patience.end());
    const asked = { reply, patience };
    this.replies.set(key, asked);
    const forget = (): void => void (this.replies.peek(key) === asked && this.replies.delete(key));
    // A request that arrives after the cancellation samples again.
    patience.signal.addEventListener('abort', forget);
    reply.then((value) => ('ok' in value ? forget() : undefined), forget);
    return asked;
  }

  private async answer(request: PolicyActRequest, prompt: Prompt, signal: AbortSignal): Promise<ActReply> {
    const { weights, sampler, renderer, imageTokenId, maxSequence } = this.parts;
    const policy = await weights.find(request.policy);
    if ('error' in policy) return policy;
    const movable = request.policy === 'latest' && weights.updatesInFlight;
    try {
      const { maxTokens, temperature, topP, topK = 0, seed, grammar } = request;
      const result = await sampler.sample({
        model: policy.weights,
        prompt: { chunks: promptChunks(prompt.tokenIds, prompt.images, imageTokenId) },
        // Not every sampler knows the longest sequence of the run.
        maxTokens: Math.min(maxTokens, maxSequence - prompt.tokenIds.length),
        temperature,
        topP,
        topK,
        seed,
        ...(movable ? { movable } : {}),
        grammar,
        class: classOf(request),
        signal,
        episode: episodeOf(request.requestId),
        conversation: conversationOf(renderer, request, prompt),
      });
      const text = renderer.answerText(result.tokens);
      const versionOf = (digest: string): number => weights.stepOf(digest);
      const answered = { text, policyVersion: policy.step, ...(movable ? { versionOf } : {}) };
      const reply = actReply(prompt, result, answered);
      if (request.tokenTexts === true) {
        reply.tokenTexts = renderer.answerTexts(result.tokens);
        reply.promptText = renderer.promptText(prompt.tokenIds);
      }
      return reply;
    } catch (error) {
      if (signal.aborted) return failure('deadline', (signal.reason as Error).message);
      if (isFaultOfRequest(error)) return failure('bad_request', error.message);
      throw error;
    }
  }
}

function classOf({ purpose }: PolicyActRequest): SampleClass {
  if (purpose === undefined) return 'outside';
  return purpose === 'train' ? 'training' : 'evaluation';
}

function replyKey(request: PolicyActRequest, prompt: Prompt): string {
  const {
    requestId,
    policy,
    maxTokens,
    temperature,
    topP,
    topK = 0,
    seed,
    grammar,
    tokenTexts = false,
  } = request;
  const asked = [policy, maxTokens, temperature, topP, topK, seed, grammar, tokenTexts, prompt.tokenIds];
  const hash = createHash('sha256');
  hash.update(JSON.stringify(asked));
  for (const { sha256 } of prompt.images) hash.update(sha256);
  return `${requestId} ${hash.digest('hex')}`;
}
