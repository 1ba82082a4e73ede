import { randomInt } from 'node:crypto';
import { checkpointName } from '@ui-rl/contracts';
import { isFaultOfRequest } from '@ui-rl/episode';
import { ModelError, promptChunks, type RenderedPrompt, type Renderer, type Tokenizer } from '@ui-rl/models';
import {
  ApiError,
  assertCaller,
  untilStop,
  type AnswerListener,
  type AnswerToken,
  type ComputerUse,
  type PolicyAnswer,
  type PolicyPrompt,
  type PolicyRequest,
  type ServedModel,
  type ServedPolicy,
} from '@ui-rl/openai-api';
import type { Sampler, SamplerRequest, SampleResult } from '@ui-rl/plugin-kit';
import { conversationOf } from '../policy/conversation';
import type { PolicySnapshot, PolicyWeights } from '../policy/policy-weights';
import { lackOfRoom, lackOfRoomIn, mostOfPrompt } from '../policy/room';

export interface OutsidePolicyParts {
  runId: string;
  /** The trained model, as the run file names it. */
  baseModel: string;
  sampler: Sampler;
  weights: PolicyWeights;
  renderer: Renderer;
  tokenizer: Tokenizer;
  imageTokenId: number;
  /** Prompt and answer together, in tokens. */
  maxSequence: number;
  computer: ComputerUse;
  /** @throws ApiError if another learner has taken over */
  ensureServed(): Promise<void>;
}

type Prompt = Pick<RenderedPrompt<{ sha256: string; tokens: number }>, 'tokenIds' | 'images'> &
  Pick<SamplerRequest, 'conversation'>;

type PromptRequest = Pick<PolicyRequest, 'model' | 'prompt' | 'signal'>;

const LATEST = 'latest';
const TOO_LONG = 'context_length_exceeded';
const MAX_SEED = 2 ** 31 - 1;

/** The policy behind the OpenAI-compatible endpoint: reads, samples and decodes as for actors. */
export class OutsidePolicy implements ServedPolicy {
  private readonly since = Math.floor(Date.now() / 1000);

  constructor(private readonly parts: OutsidePolicyParts) {}

  get computer(): ComputerUse {
    return this.parts.computer;
  }

  async models(): Promise<ServedModel[]> {
    await this.parts.ensureServed();
    const { baseModel, runId, weights } = this.parts;
    const { step } = weights.current;
    const model = (id: string, at: number): ServedModel => ({
      id,
      created: this.since,
      run: runId,
      step: at,
    });
    return [model(LATEST, step), model(checkpointName({ runId, step }), step), model(baseModel, 0)];
  }

  async answer(request: PolicyRequest, listener?: AnswerListener): Promise<PolicyAnswer> {
    const { parts } = this;
    await parts.ensureServed();
    const prompt = await this.promptOf(request.prompt, request.signal);
    const promptTokenIds = prompt.tokenIds;
    const room = parts.maxSequence - promptTokenIds.length;
    const { snapshot, model } = await this.find(request.model);
    // No await from here to the sampler: found weights may be released during one.
    const sampling = parts.sampler.sample({
      ...(listener === undefined ? {} : tell(parts.renderer, listener)),
      model: snapshot.weights,
      prompt: { chunks: promptChunks(promptTokenIds, prompt.images, parts.imageTokenId) },
      maxTokens: Math.min(request.maxTokens ?? room, room),
      temperature: request.temperature ?? 1,
      topP: request.topP ?? 1,
      seed: request.seed ?? randomInt(MAX_SEED),
      // Cancels the answer when its caller disconnects.
      signal: request.signal,
      conversation: prompt.conversation,
    });
    listener?.begins({ model, digest: snapshot.digest, promptTokenIds });
    try {
      return this.read(await sampling, { model, promptTokenIds }, request.stop);
    } catch (error) {
      assertCaller(request.signal);
      if (isFaultOfRequest(error)) throw new ApiError(400, error.message);
      throw error;
    }
  }

  async countTokens({ model, prompt, signal }: PromptRequest): Promise<number> {
    await this.parts.ensureServed();
    const { tokenIds } = await this.promptOf(prompt, signal);
    await this.find(model);
    return tokenIds.length;
  }

  private read(
    { tokens: ids, logprobs, stopReason, digest }: SampleResult,
    head: Pick<PolicyAnswer, 'model' | 'promptTokenIds'>,
    stops: readonly string[],
  ): PolicyAnswer {
    const texts = this.parts.renderer.answerTexts(ids);
    const all = ids.map((id, index) => ({ id, logprob: logprobs[index], text: texts[index] }));
    const { tokens, text, stopped } = untilStop(all, stops);
    return { ...head, digest, tokens, text, finish: stopped ? 'stop' : stopReason };
  }

  async fits(prompt: PolicyPrompt, signal: AbortSignal): Promise<boolean> {
    try {
      await this.promptOf(prompt, signal);
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.code === TOO_LONG) return false;
      throw error;
    }
  }

  /** @throws ApiError if the prompt leaves no capacity for an answer */
  private async promptOf(prompt: PolicyPrompt, signal: AbortSignal): Promise<Prompt> {
    const { maxSequence } = this.parts;
    try {
      const rendered = await this.render(prompt, signal);
      const lack = lackOfRoom(rendered.tokenIds.length, maxSequence);
      if (lack !== undefined) throw tooLong(lack);
      return rendered;
    } catch (error) {
      assertCaller(signal);
      const lack = lackOfRoomIn(error, maxSequence);
      if (lack !== undefined) throw tooLong(lack);
      if (error instanceof ModelError) throw new ApiError(400, error.message, 'invalid_prompt');
      throw error;
    }
  }

  private async render(prompt: PolicyPrompt, signal: AbortSignal): Promise<Prompt> {
    const { renderer, tokenizer, imageTokenId, maxSequence } = this.parts;
    const most = mostOfPrompt(maxSequence);
    if (prompt.kind === 'conversation') {
      const { messages, images, tools } = prompt.conversation;
      const shown = tools.length === 0 ? undefined : tools;
      const rendered = await renderer.renderPngs(messages, images, { tools: shown, most, signal });
      return { ...rendered, conversation: conversationOf(renderer, prompt.conversation, rendered) };
    }
    const tokenIds =
      prompt.kind === 'tokens'
        ? prompt.tokenIds
        : [...tokenizer.beginningIds, ...renderer.encodeText(prompt.text, most)];
    const unknown = tokenIds.find((id) => id >= tokenizer.vocabSize || id === imageTokenId);
    if (unknown === undefined) return { tokenIds, images: [] };
    const why =
      unknown === imageTokenId
        ? 'stands for an image; images are shown in conversations'
        : 'is not a token of the model';
    throw new ApiError(400, `prompt: token ${unknown} ${why}`, 'invalid_prompt', 'prompt');
  }

  private async find(name: string): Promise<{ snapshot: PolicySnapshot; model: string }> {
    const { weights, baseModel, runId } = this.parts;
    if (name === baseModel) return { snapshot: await weights.base(), model: baseModel };
    const snapshot = await weights.find(name);
    if ('error' in snapshot) {
      const known = `"${LATEST}", "${baseModel}" and checkpoints (uirl://<run>/sampler_weights/000080)`;
      throw new ApiError(
        404,
        `there is no model "${name}": ${snapshot.error.message}; known are ${known}`,
        'model_not_found',
        'model',
      );
    }
    return { snapshot, model: name === LATEST ? checkpointName({ runId, step: snapshot.step }) : name };
  }
}

function tooLong(lack: string): ApiError {
  return new ApiError(400, lack, TOO_LONG, 'messages');
}

function tell(renderer: Renderer, listener: AnswerListener): Pick<SamplerRequest, 'onBegin' | 'onToken'> {
  const tellToken = tellTokens(renderer, listener);
  return {
    onBegin: () => listener.isRead?.(),
    onToken: (id, logprob) => {
      listener.isSampled?.();
      tellToken(id, logprob);
    },
  };
}

/** Reports each token when the next one arrives: the last token of an answer may include an incomplete character. */
function tellTokens(renderer: Renderer, listener: AnswerListener): (id: number, logprob: number) => void {
  const decoder = renderer.answerDecoder();
  let before: AnswerToken | undefined;
  return (id, logprob) => {
    if (before !== undefined) listener.token(before);
    before = { id, logprob, text: decoder.push(id) };
  };
}
