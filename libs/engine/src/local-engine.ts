import { loadFamily, loadImageProcessor, type ImageProcessor } from '@ui-rl/models';
import type {
  Datum,
  Engine,
  EngineContext,
  EngineInfo,
  ForwardBackwardRequest,
  ForwardBackwardResult,
  ForwardRequest,
  ForwardResult,
  ModelName,
  OptimStepRequest,
  OptimStepResult,
  SampleRequest,
  SampleResult,
  WeightsInfo,
} from '@ui-rl/plugin-kit';
import { chooseDevice } from './device/choose-device';
import { EngineError } from './errors';
import { scoringTemperature } from './generation/sampling';
import { ImageStore, type FetchImage } from './images/image-store';
import { ModelInputs } from './images/model-inputs';
import type { LocalEngineOptions } from './local-options';
import type { ProgressReporter } from './progress';
import type { TrainingDatum } from './training/data';
import { WorkerHandle } from './worker-handle';
import type { WorkerArgument, WorkerMethod, WorkerOptions, WorkerResult } from './worker-api';

/** Settings of a local engine; defaults are those of the run file's options. */
export interface LocalEngineSettings extends Omit<WorkerOptions, 'deterministic' | 'componentFiles'> {
  deterministic?: boolean;
  componentFiles?: readonly string[];
  /** Fetches images by hash that are not in memory. Default: none are available. */
  fetchImage?: FetchImage;
  /** Processes and caches images. Default: a new one. */
  imageProcessor?: ImageProcessor;
  /** Why this device was chosen, for the log. */
  deviceReason?: string;
  onProgress?: ProgressReporter;
}

/** Memory for processed images. */
const IMAGE_CACHE_BYTES = 512 * 2 ** 20;

/**
 * The engine of this project: a thread that owns all sessions of a device, samples and trains. Generation continues
 * between training passes and between their layers. Calls take effect in the order in which they are made; only
 * `sample` and `info` do not wait for others.
 */
export class LocalEngine implements Engine {
  readonly ended: Promise<EngineError>;
  private readonly inputs: ModelInputs;
  /** Settles when all order-preserving calls have been posted. */
  private posted: Promise<unknown> = Promise.resolve();
  private nextSample = 0;
  /** Samples whose images are being prepared. */
  private readonly preparing = new Set<{ model: ModelName; posted: Promise<unknown> }>();

  private constructor(
    private readonly worker: WorkerHandle,
    images: ImageStore,
    imageTokenId: number,
    private readonly deviceReason: string | undefined,
  ) {
    this.ended = worker.ended;
    this.inputs = new ModelInputs(images, imageTokenId);
  }

  static async start({
    fetchImage = () => Promise.resolve(null),
    imageProcessor,
    deviceReason,
    onProgress = () => undefined,
    ...settings
  }: LocalEngineSettings): Promise<LocalEngine> {
    const options: WorkerOptions = { deterministic: false, componentFiles: [], ...settings };
    const worker = await WorkerHandle.start(options, onProgress);
    try {
      const family = await loadFamily(settings.modelDir);
      const processor =
        imageProcessor ??
        (await loadImageProcessor(settings.modelDir, family, { cacheBytes: IMAGE_CACHE_BYTES }));
      const images = new ImageStore(processor, fetchImage);
      return new LocalEngine(worker, images, family.shape.imageTokenId, deviceReason);
    } catch (error) {
      await worker.stop();
      throw error;
    }
  }

  /**
   * Samples from the weights that have the name when the prompt's images are ready: the result's digest identifies
   * them.
   */
  async sample({ signal, onBegin, onToken, ...request }: SampleRequest): Promise<SampleResult> {
    const id = this.nextSample++;
    const prompt = this.inputs.resolve(request.prompt);
    const isTold = onBegin !== undefined || onToken !== undefined;
    const tell = (event: unknown): void => {
      if (event === null) onBegin?.();
      else onToken?.(...(event as [token: number, logprob: number]));
    };
    const ready = prompt.then((resolved) => {
      signal?.throwIfAborted();
      return { ...request, prompt: resolved, id };
    });
    const preparing = {
      model: request.model,
      posted: this.post('sample', ready, isTold ? tell : undefined),
    };
    this.preparing.add(preparing);
    const { reply } = await preparing.posted.finally(() => this.preparing.delete(preparing));
    return signal === undefined ? reply : this.untilAborted(reply, id, signal);
  }

  private async untilAborted<T>(reply: Promise<T>, id: number, signal: AbortSignal): Promise<T> {
    const cancel = (): void => void this.worker.call('cancel', id).catch(() => undefined);
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel);
    try {
      return await reply;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }

  forward(request: ForwardRequest): Promise<ForwardResult> {
    return this.inOrder('forward', this.withImages(request));
  }

  forwardBackward(request: ForwardBackwardRequest): Promise<ForwardBackwardResult> {
    return this.inOrder('forwardBackward', this.withImages(request));
  }

  optimStep(request: OptimStepRequest): Promise<OptimStepResult> {
    return this.inOrder('optimStep', request);
  }

  saveState(request: Parameters<Engine['saveState']>[0]): Promise<WeightsInfo> {
    return this.inOrder('saveState', request);
  }

  loadState(request: Parameters<Engine['loadState']>[0]): Promise<WeightsInfo> {
    return this.inOrder('loadState', request);
  }

  saveWeightsForSampler(request: Parameters<Engine['saveWeightsForSampler']>[0]): Promise<WeightsInfo> {
    return this.inOrder('saveWeightsForSampler', request);
  }

  moveSamples(request: { from: ModelName; to: ModelName }): Promise<void> {
    return this.inOrder('moveSamples', request);
  }

  exportWeights(request: Parameters<Engine['exportWeights']>[0]): ReturnType<Engine['exportWeights']> {
    return this.inOrder('exportWeights', request);
  }

  releaseWeights(name: string): Promise<void> {
    return this.inOrder('releaseWeights', this.afterSamplesOf(name));
  }

  addModel(model: Parameters<NonNullable<Engine['addModel']>>[0]): Promise<WeightsInfo> {
    return this.inOrder('addModel', model);
  }

  removeModel(name: ModelName): Promise<void> {
    return this.inOrder('removeModel', this.afterSamplesOf(name));
  }

  discardGradients(model: string): Promise<void> {
    return this.inOrder('discardGradients', model);
  }

  async info(): Promise<EngineInfo> {
    const info = await this.worker.call('info', undefined);
    return { ...info, deviceReason: this.deviceReason };
  }

  /** Stops the thread; pending calls are rejected. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /**
   * The weights' name once all earlier samples from it have been posted, even those that still wait for their images.
   */
  private async afterSamplesOf(name: ModelName): Promise<ModelName> {
    const samples = [...this.preparing].filter(({ model }) => model === name);
    await Promise.allSettled(samples.map((sample) => sample.posted));
    return name;
  }

  /** Posts a call after all earlier ones, even if their images take longer to prepare. */
  private async inOrder<M extends WorkerMethod>(
    method: M,
    argument: WorkerArgument<M> | Promise<WorkerArgument<M>>,
  ): Promise<WorkerResult<M>> {
    const ready = Promise.resolve(argument);
    // A failed preparation rejects this call, in its turn.
    ready.catch(() => undefined);
    const posted = this.post(
      method,
      this.posted.then(() => ready),
    );
    this.posted = posted.catch(() => undefined);
    return (await posted).reply;
  }

  /** Posts a call when its argument is ready; the promise settles then, not with the reply. */
  private async post<M extends WorkerMethod>(
    method: M,
    ready: Promise<WorkerArgument<M>>,
    onEvent?: (event: unknown) => void,
  ): Promise<{ reply: Promise<WorkerResult<M>> }> {
    return { reply: this.worker.call(method, await ready, onEvent) };
  }

  private async withImages<Request extends ForwardRequest>(
    request: Request,
  ): Promise<Omit<Request, 'data'> & { data: TrainingDatum[] }> {
    const data = request.data.map((datum, index) => this.resolveDatum(datum, index));
    return { ...request, data: await Promise.all(data) };
  }

  private async resolveDatum(
    { modelInput, targetTokens, weights, lossInputs = {}, temperature = 1, ...others }: Datum,
    index: number,
  ): Promise<TrainingDatum> {
    const { keptTokens, sequence, pair } = others;
    const input = await this.inputs.resolve(modelInput);
    const { length } = input.tokenIds;
    for (const [name, array] of Object.entries({ targetTokens, weights, keptTokens, ...lossInputs })) {
      if (array === undefined || array.length === length) continue;
      throw new EngineError(
        'request',
        `datum ${index} has ${length} positions but ${array.length} ${name}; expected as many`,
      );
    }
    return {
      ...input,
      targets: targetTokens,
      weights,
      lossInputs,
      temperature: scoringTemperature(temperature),
      keptTokens,
      sequence,
      pair,
    };
  }
}

/** Starts the engine with the options of a run file. */
export async function startFromRunFile(
  {
    device: asked,
    dtype,
    compute,
    quantization,
    threads,
    gradient_checkpointing,
    cache_memory_mb,
  }: LocalEngineOptions,
  { log, device: begunOn, environment: _none, endTokenIds: _own, ...context }: EngineContext,
): Promise<LocalEngine> {
  const { device, reason } = await chooseDevice(asked, { begunOn });
  const isAnother = begunOn !== undefined && begunOn !== device;
  log(isAnother ? 'warn' : 'info', `the model runs on ${device}: ${reason}`);
  return LocalEngine.start({
    ...context,
    device,
    deviceReason: reason,
    weights: dtype,
    compute,
    quantization,
    ...(threads > 0 ? { threads } : {}),
    gradientCheckpointing: gradient_checkpointing,
    cacheMemoryMb: cache_memory_mb,
  });
}
