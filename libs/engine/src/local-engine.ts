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
  OptimStepRequest,
  OptimStepResult,
  SampleRequest,
  SampleResult,
  WeightsInfo,
} from '@ui-rl/plugin-kit';
import { chooseDevice } from './device/choose-device';
import { EngineError } from './errors';
import { ImageStore, type FetchImage } from './images/image-store';
import { ModelInputs } from './images/model-inputs';
import type { LocalEngineOptions } from './local-options';
import type { ProgressReporter } from './progress';
import type { TrainingDatum } from './training/data';
import { WorkerHandle } from './worker-handle';
import type { WorkerOptions } from './worker-api';

/** What a local engine is started with; what is left out is as in the options of a run file. */
export interface LocalEngineSettings extends Omit<WorkerOptions, 'deterministic' | 'componentFiles'> {
  deterministic?: boolean;
  componentFiles?: readonly string[];
  /** Images that are asked for by hash and not in memory. Default: nobody has any. */
  fetchImage?: FetchImage;
  /** Prepares images and remembers them; default: one of its own. */
  imageProcessor?: ImageProcessor;
  /** Why this device, for people. */
  deviceReason?: string;
  onProgress?: ProgressReporter;
}

/** Memory for images that were processed before. */
const IMAGE_CACHE_BYTES = 512 * 2 ** 20;

/**
 * The engine of this project: a thread that owns all sessions of a device, samples and trains. Generation goes on between the
 * passes of training and between their layers. Verbs take effect in the order in which they are called; only `sample` and `info`
 * do not wait for others.
 */
export class LocalEngine implements Engine {
  readonly ended: Promise<EngineError>;
  private inputs: ModelInputs;
  /** Calls whose images are being made ready, in the order of the calls. */
  private posted: Promise<unknown> = Promise.resolve();

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
    const family = await loadFamily(settings.modelDir);
    const processor =
      imageProcessor ??
      (await loadImageProcessor(settings.modelDir, family, { cacheBytes: IMAGE_CACHE_BYTES }));
    const images = new ImageStore(processor, fetchImage);
    return new LocalEngine(worker, images, family.shape.imageTokenId, deviceReason);
  }

  async sample(request: SampleRequest): Promise<SampleResult> {
    const prompt = await this.inputs.resolve(request.prompt);
    return this.worker.call('sample', { ...request, prompt });
  }

  forward(request: ForwardRequest): Promise<ForwardResult> {
    return this.inOrder('forward', async () => ({ ...request, data: await this.resolve(request.data) }));
  }

  forwardBackward(request: ForwardBackwardRequest): Promise<ForwardBackwardResult> {
    return this.inOrder('forwardBackward', async () => ({
      ...request,
      data: await this.resolve(request.data),
    }));
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

  releaseWeights(name: string): Promise<void> {
    return this.inOrder('releaseWeights', name);
  }

  discardGradients(model: string): Promise<void> {
    return this.inOrder('discardGradients', model);
  }

  async info(): Promise<EngineInfo> {
    const info = await this.worker.call<EngineInfo>('info');
    return this.deviceReason === undefined
      ? info
      : { ...info, device: `${info.device} (${this.deviceReason})` };
  }

  /** Ends the thread; calls in progress are rejected. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** Posts a call after those made before it, though their images may take longer to be ready. */
  private async inOrder<T>(method: string, argument: unknown): Promise<T> {
    const ready = Promise.resolve(typeof argument === 'function' ? (argument as () => unknown)() : argument);
    const before = this.posted;
    const answer = before.then(async () => ({ reply: this.worker.call<T>(method, await ready) }));
    this.posted = answer.catch(() => undefined);
    // The failure is told by `answer`, in its turn.
    ready.catch(() => undefined);
    return (await answer).reply;
  }

  private resolve(data: readonly Datum[]): Promise<TrainingDatum[]> {
    return Promise.all(data.map((datum, index) => this.resolveDatum(datum, index)));
  }

  private async resolveDatum(
    { modelInput, targetTokens, weights, lossInputs = {}, temperature = 1, sequence, pair }: Datum,
    index: number,
  ): Promise<TrainingDatum> {
    const input = await this.inputs.resolve(modelInput);
    const { length } = input.tokenIds;
    for (const [name, array] of Object.entries({ targetTokens, weights, ...lossInputs })) {
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
      temperature: temperature > 0 ? temperature : 1,
      ...(sequence === undefined ? {} : { sequence }),
      ...(pair === undefined ? {} : { pair }),
    };
  }
}

/** The engine as a run chooses it. */
export async function startFromRunFile(
  { device: asked, dtype, quantization, threads, gradient_checkpointing }: LocalEngineOptions,
  { log, ...context }: EngineContext,
): Promise<LocalEngine> {
  const { device, reason } = await chooseDevice(asked);
  log('info', `the model runs on ${device}: ${reason}`);
  return LocalEngine.start({
    ...context,
    device,
    deviceReason: reason,
    weights: dtype,
    quantization,
    ...(threads > 0 ? { threads } : {}),
    gradientCheckpointing: gradient_checkpointing,
  });
}
