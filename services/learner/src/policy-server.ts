import { createHash } from 'node:crypto';
import { BusError, failure } from '@ui-rl/bus';
import {
  parseCheckpointName,
  stepFolder,
  type ImageSize,
  type PolicyActReply,
  type PolicyActRequest,
  type RequestFailure,
} from '@ui-rl/contracts';
import { EngineError, type Engine, type GenerateResult } from '@ui-rl/engine';
import { ModelError, type ModelFolder, type RenderedPrompt, type Renderer } from '@ui-rl/models';
import type { ImageStore } from './image-store';
import type { RecentScreenshots } from './recent-screenshots';

/** The policy that answers `latest`. */
export interface PolicySnapshot {
  step: number;
  digest: string;
  /** Id of its weights in the engine. */
  snapshot: string;
}

export interface PolicyServerOptions {
  runId: string;
  /** Folder of a checkpoint by its address. @throws BusError */
  locate(name: string): Promise<string>;
}

type Refusal = { ok: false; error: RequestFailure };
type ActReply = PolicyActReply | Refusal;

/** Other checkpoints whose weights stay in memory. */
const MAX_LOADED_CHECKPOINTS = 2;
const MAX_CACHED_REPLIES = 1024;

/** Answers what the policy would do: messages → prompt → tokens. */
export class PolicyServer {
  private active: PolicySnapshot | undefined;
  /** Checkpoints that were requested, least recently used first. */
  private readonly loaded = new Map<string, Promise<PolicySnapshot>>();
  private readonly replies = new Map<string, Promise<ActReply>>();

  constructor(
    private readonly engine: Engine,
    private readonly folder: ModelFolder,
    private readonly renderer: Renderer,
    private readonly images: ImageStore,
    private readonly screenshots: RecentScreenshots,
    private readonly options: PolicyServerOptions,
  ) {}

  get current(): PolicySnapshot {
    if (this.active === undefined) throw new Error('no policy is served yet');
    return this.active;
  }

  /** Makes the engine's newest weights the policy that answers `latest`, once they are safe on disk. */
  async activate(step: number, digest: string): Promise<void> {
    const old = this.active;
    this.active = { step, digest, snapshot: `step-${stepFolder(step)}` };
    if (old !== undefined && old.snapshot !== this.active.snapshot)
      await this.engine.dropSnapshot(old.snapshot);
  }

  /** Keeps the engine's newest weights as the snapshot of a step. */
  async snapshot(step: number): Promise<void> {
    await this.engine.snapshot(`step-${stepFolder(step)}`);
  }

  /** A screenshot of this size as the model sees it. */
  modelImage(screenshot: ImageSize): ImageSize | Refusal {
    try {
      return this.folder.imageProcessor.shownSize(screenshot);
    } catch (error) {
      if (error instanceof ModelError) return failure('bad_request', error.message);
      throw error;
    }
  }

  /** A request that comes again with the same id and prompt gets the same answer. */
  async act(request: PolicyActRequest): Promise<ActReply> {
    const pngs = await this.screenshots.pngsOf(request.images);
    if ('missing' in pngs) {
      return failure('unknown_image', `screenshot ${pngs.missing} is neither in memory nor among the blobs`);
    }
    let prompt: RenderedPrompt;
    try {
      prompt = await this.renderer.renderPngs(request.messages, pngs);
    } catch (error) {
      if (error instanceof ModelError) return failure('bad_request', error.message);
      throw error;
    }
    const key = replyKey(request, prompt);
    let reply = this.replies.get(key);
    if (reply === undefined) {
      reply = this.answer(request, prompt);
      this.cache(key, reply);
    }
    return reply;
  }

  private cache(key: string, reply: Promise<ActReply>): void {
    this.replies.set(key, reply);
    const evict = (): void => void this.replies.delete(key);
    reply.then((value) => ('ok' in value ? evict() : undefined), evict);
    const [oldest] = this.replies.keys();
    if (this.replies.size > MAX_CACHED_REPLIES && oldest !== undefined) this.replies.delete(oldest);
  }

  private async answer(request: PolicyActRequest, prompt: RenderedPrompt): Promise<ActReply> {
    const kept = prompt.images.map((image) => this.images.keep(image));
    const policy = await this.find(request.policy);
    if ('error' in policy) return policy;
    try {
      const { maxTokens, temperature, topP, seed } = request;
      const result = await this.engine.generate({
        prompt: { tokenIds: prompt.tokenIds, images: kept },
        maxTokens,
        temperature,
        topP,
        seed,
        policy: policy.snapshot,
      });
      return this.toReply(prompt, result, policy);
    } catch (error) {
      if (error instanceof EngineError && error.category === 'request')
        return failure('bad_request', error.message);
      throw error;
    }
  }

  private toReply(prompt: RenderedPrompt, result: GenerateResult, policy: PolicySnapshot): PolicyActReply {
    return {
      promptTokenIds: prompt.tokenIds,
      promptImages: prompt.images.map(({ sha256 }) => sha256),
      imageTokens: prompt.imageTokens,
      tokenIds: result.tokenIds,
      logprobs: result.logprobs,
      text: this.folder.tokenizer.decode(result.tokenIds, { skipSpecialTokens: true }),
      finishReason: result.finishReason,
      policyVersion: policy.step,
      adapterDigest: result.adapterDigest,
    };
  }

  private async find(policy: string): Promise<PolicySnapshot | Refusal> {
    if (policy === 'latest') return this.current;
    const name = parseCheckpointName(policy);
    if (name === undefined) {
      return failure(
        'unknown_policy',
        `"${policy}" is neither "latest" nor a name such as uirl://<run>/sampler_weights/000080`,
      );
    }
    if (name.runId === this.options.runId && name.step === this.current.step) return this.current;
    try {
      return await this.loadCheckpoint(policy, name.step);
    } catch (error) {
      if (error instanceof BusError && error.category === 'missing')
        return failure('unknown_policy', error.message);
      throw error;
    }
  }

  private loadCheckpoint(name: string, step: number): Promise<PolicySnapshot> {
    const known = this.loaded.get(name);
    const loading = known ?? this.snapshotOf(name, step);
    this.loaded.delete(name);
    this.loaded.set(name, loading);
    if (known === undefined) loading.catch(() => this.loaded.delete(name));
    for (const oldest of this.loaded.keys()) {
      if (this.loaded.size <= MAX_LOADED_CHECKPOINTS) break;
      this.loaded.delete(oldest);
      void this.engine.dropSnapshot(oldest).catch(() => undefined);
    }
    return loading;
  }

  private async snapshotOf(name: string, step: number): Promise<PolicySnapshot> {
    const { digest } = await this.engine.snapshot(name, await this.options.locate(name));
    return { step, digest, snapshot: name };
  }
}

function replyKey(
  { requestId, policy, maxTokens, temperature, topP, seed }: PolicyActRequest,
  prompt: RenderedPrompt,
): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify([policy, maxTokens, temperature, topP, seed, prompt.tokenIds]));
  for (const { sha256 } of prompt.images) hash.update(sha256);
  return `${requestId} ${hash.digest('hex')}`;
}
