import type { ComponentBase, Log } from './component';
import type { LossInput, LossModel } from './policy-loss';

/** A part of a model input, in order. The tokens of all chunks form the sequence. */
export type ModelInputChunk =
  | { type: 'text'; tokens: ArrayLike<number> }
  /**
   * Occupies `tokens` positions of the sequence. The engine requests the bytes by hash if it does not have them. If
   * text stands between the tokens of one image, its further parts are chunks with `continues`.
   */
  | { type: 'image'; sha256: string; tokens: number; continues?: boolean };

export interface ModelInput {
  chunks: readonly ModelInputChunk[];
}

/**
 * One sequence to train on or to score. Arrays have one element per position of `modelInput`; position i refers to
 * `targetTokens[i]`, the token that follows it (already shifted, as in Tinker's API).
 */
export interface Datum {
  modelInput: ModelInput;
  /** [L] target of each position. */
  targetTokens: ArrayLike<number>;
  /**
   * [L] weight of each position in the loss; 0: not trained. The weights include all aggregation (means over tokens,
   * sequences).
   */
  weights: ArrayLike<number>;
  /** [L] each: further inputs that the loss declares. */
  lossInputs?: Readonly<Partial<Record<LossInput, ArrayLike<number>>>>;
  /** Softmax temperature of its log-probabilities: the sampling temperature. 0 and undefined count as 1. */
  temperature?: number;
  /**
   * [L] ascending tokens to which the distribution at each position is cut, including the target: log-probabilities
   * are those of softmax over these only. Empty: all tokens.
   */
  keptTokens?: readonly ArrayLike<number>[];
  /**
   * With scope `sequence` or `pair`, data of the same sequence share one loss value. Default: each datum has its own.
   */
  sequence?: string;
  /** With scope `pair`: the pair of this sequence, and its side. Both sides are computed in one pass. */
  pair?: { id: string; side: 'chosen' | 'rejected' };
}

/** A component by name, in serializable form; options are complete with defaults. */
export interface ComponentChoice {
  name: string;
  [option: string]: unknown;
}

/**
 * Identifies weights: `policy` (the latest trained ones), `base` (adapter off), `critic`, the name of another trained
 * model, or weights named by `saveWeightsForSampler`.
 */
export type ModelName = string;

/** The purpose of a sample. When several classes compete for the device, each gets its share. */
export type SampleClass = 'training' | 'evaluation' | 'outside';

/** Maximum number of tokens in a cut distribution: if `topP` or a grammar leaves more, the most likely of them. */
export const MAX_KEPT_TOKENS = 512;

export interface SampleRequest {
  model: ModelName;
  prompt: ModelInput;
  maxTokens: number;
  /** 0 = greedy. */
  temperature: number;
  /**
   * Nucleus sampling threshold: samples from the smallest set of most likely tokens with this total probability; 1:
   * all.
   */
  topP: number;
  /**
   * Samples from the k most likely tokens; 0 or undefined: all. Applied before `topP`, which is then relative to
   * these.
   */
  topK?: number;
  /** The same seed and prompt give the same tokens (bitwise if the engine is deterministic). */
  seed: number;
  /** Tokens that end the answer besides the model's own. */
  stop?: readonly number[];
  /** Called when prefill starts, after any wait in the queue. Not supported by every sampler. */
  onBegin?: () => void;
  /** Called for each sampled token. Not supported by every sampler. */
  onToken?: (token: number, logprob: number) => void;
  /** May continue with other weights after some of its tokens (`moveSamples`). */
  movable?: boolean;
  /**
   * A regular expression that the whole answer must match: only tokens that can complete it are sampled, and the
   * answer may end when it matches. See `Dialect.grammar`. `keptTokens` reports the allowed tokens.
   */
  grammar?: string;
  /** Default `outside`. */
  class?: SampleClass;
  /** Abort it to cancel: sampling stops, and the call rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface SampleResult {
  /** Includes the stop token. */
  tokens: number[];
  /**
   * Log-probability of each token under softmax(logits / temperature), at temperature 1 for greedy decoding; for a
   * cut distribution, under softmax over the kept tokens.
   */
  logprobs: number[];
  /** For cut distributions: the tokens that each token was drawn from, ascending; empty if it was drawn from all. */
  keptTokens?: readonly ArrayLike<number>[];
  stopReason: 'stop' | 'length';
  /** Digest of the weights that sampled; of the first ones if the sample continued with others. */
  digest: string;
  /** Which weights sampled which tokens, in order, if the sample continued with other weights. */
  spans?: readonly WeightsSpan[];
}

/** Consecutive tokens sampled by the same weights. */
export interface WeightsSpan extends WeightsInfo {
  tokens: number;
}

export interface ForwardRequest {
  model: ModelName;
  data: readonly Datum[];
}

export interface ForwardResult {
  /** Per datum [L]: log-probability of each target; NaN where the weight is 0. Empty for a critic. */
  logprobs: Float32Array[];
  /** For a critic, per datum [L]: value of the state in which the target was chosen; NaN where the weight is 0. */
  values?: Float32Array[];
}

export interface ForwardBackwardRequest extends ForwardRequest {
  loss: ComponentChoice;
  /** Terms added to the loss of a policy; the data must include their inputs. */
  regularizers?: readonly ComponentChoice[];
  /** Minimum number of passes for the data. Default 1. */
  minPasses?: number;
}

export interface ForwardBackwardResult extends ForwardResult {
  /**
   * `loss` (Σ weight · loss), `entropy` (mean over trained tokens), `tokens`, `passes`, `loss/<name>`,
   * `regularizer/<name>` …
   */
  metrics: Record<string, number>;
}

export interface OptimStepRequest {
  model: ModelName;
  optimizer: ComponentChoice;
  learningRate: number;
  /** Maximum norm of all gradients together (clipping); 0 = no clipping. */
  maxGradNorm: number;
}

export interface OptimStepResult {
  /** `grad_norm` … */
  metrics: Record<string, number>;
  weights: WeightsInfo;
}

/** Identifies weights. */
export interface WeightsInfo {
  /** Number of optimizer steps; 0 is the model as loaded. */
  version: number;
  /** Hex sha256 of the trained weights. */
  digest: string;
}

export interface EngineInfo {
  name: string;
  /** Short name of the device: a resumed run receives it as `device` of the context. */
  device: string;
  /** Why the engine uses this device, in words. */
  deviceReason?: string | undefined;
  trainedParameters: number;
  /** Names of models and weights that requests may use. */
  models: readonly ModelName[];
  maxSequence: number;
  /** Further details for display. */
  [detail: string]: unknown;
}

/**
 * Trains and samples. The methods are named as in Tinker's API, and they are the learner's only access to training.
 * Calls may overlap; methods that change or write weights run one after the other. Every method rejects with an error
 * whose `category` is `request` (invalid request), `checkpoint` (a folder has invalid content) or `worker` (the
 * engine has stopped).
 */
export interface Engine {
  sample(request: SampleRequest): Promise<SampleResult>;
  /** Computes log-probabilities without training. */
  forward(request: ForwardRequest): Promise<ForwardResult>;
  /**
   * Adds the gradients of Σ weight · loss to those of earlier calls, until `optimStep`. A failed call adds nothing.
   */
  forwardBackward(request: ForwardBackwardRequest): Promise<ForwardBackwardResult>;
  /**
   * Updates the weights with the accumulated gradients, and clears these. Throws without changing anything if they
   * are not finite.
   */
  optimStep(request: OptimStepRequest): Promise<OptimStepResult>;
  /** Writes weights, optimizer state and additional files to a folder that appears complete or not at all. */
  saveState(request: {
    model: ModelName;
    dir: string;
    files?: Readonly<Record<string, string>>;
  }): Promise<WeightsInfo>;
  /**
   * Called before a folder of `saveState` is deleted. Implement it if the weights are stored elsewhere, to release
   * them there.
   */
  forgetState?(request: { dir: string }): Promise<void>;
  /** Loads a folder that `saveState` wrote; without `optimizer`, the optimizer state is reset. */
  loadState(request: { model: ModelName; dir: string; optimizer: boolean }): Promise<WeightsInfo>;
  /**
   * Makes the latest weights of a model, or those of a folder that `saveState` wrote, available to `sample` under a
   * name.
   */
  saveWeightsForSampler(request: { model: ModelName; name: string; dir?: string }): Promise<WeightsInfo>;
  /**
   * Continues `movable` samples of `from` with the weights `to` of the same model from their next token on; keys and
   * values of earlier tokens are kept (PipelineRL, arXiv 2509.19128). Resolves when `from` no longer samples any of
   * their tokens. Optional.
   */
  moveSamples?(request: { from: ModelName; to: ModelName }): Promise<void>;
  /**
   * Exports such weights for other programs, to a folder that appears complete or not at all: an adapter in PEFT
   * format, or a Hugging Face folder if all weights are trained. Does not export the unmodified base model
   * (`isBase`).
   */
  exportWeights(request: { name: string; dir: string }): Promise<WeightsInfo & { isBase: boolean }>;
  /** Releases such weights; samples in progress complete normally. */
  releaseWeights(name: string): Promise<void>;
  /**
   * Adds a trained model over the base, with fresh weights from its own seed or with the weights of a folder.
   * Optional.
   */
  addModel?(model: TrainedModel & { seed: number }): Promise<WeightsInfo>;
  /** Releases a model of `addModel` and its gradients; samples in progress complete normally. */
  removeModel?(name: ModelName): Promise<void>;
  /** Discards accumulated gradients. */
  discardGradients(model: ModelName): Promise<void>;
  info(): Promise<EngineInfo>;
  /** Resolves when the engine has ended, by `stop` or by a failure, with the error of all later calls. */
  readonly ended: Promise<Error>;
  stop(): Promise<void>;
}

export interface EngineContext {
  /** Hugging Face folder of the model on this machine; without weights for a `remote` engine. */
  modelDir: string;
  /** The model's name in the run file, such as `organisation/name` on the hub; undefined outside of runs. */
  modelName?: string;
  /** Local folder for data that can be regenerated, such as converted weights. */
  cacheDir: string;
  /** Models to train. */
  models: readonly TrainedModel[];
  /** Maximum number of sequences sampled at the same time. */
  maxRows: number;
  /** Longest sequence, prompt and answer together, in tokens. */
  maxSequence: number;
  /** Whether a row's result must be independent of its neighbours and of its position in the batch. */
  deterministic: boolean;
  /** Seed of fresh weights. */
  seed: number;
  /** Tokens that each end an answer of the model; a request's `stop` adds others. */
  endTokenIds: readonly number[];
  /**
   * Device of the run's first start, as reported by `info`; undefined for a new run. An engine that chooses its
   * device chooses the same again, because sums round differently on another device.
   */
  device?: string | undefined;
  /**
   * Modules with additional components, so that threads and processes of the engine can load losses and optimizers by
   * name.
   */
  componentFiles: readonly string[];
  /** Values of the variables of the component's `environment` on this machine; unset ones are missing. */
  environment: Readonly<Record<string, string>>;
  /** A screenshot's bytes by hash; null if they are no longer available. */
  fetchImage(sha256: string): Promise<Uint8Array | null>;
  log: Log;
  /** Receives progress lines of long preparations. */
  onProgress(line: string): void;
}

/** A trained model: an adapter over frozen weights, or all weights. */
export interface TrainedModel {
  /** `policy`, `critic` … */
  name: ModelName;
  /**
   * A policy returns log-probabilities and can be sampled from. A critic returns values: it is an adapter with a
   * scalar head over the frozen weights, even if the policy trains all weights.
   */
  role: LossModel;
  trainable: { mode: 'lora'; lora: LoraOptions; adapterDir?: string } | { mode: 'full' } | { mode: 'frozen' };
}

export interface LoraOptions {
  rank: number;
  alpha: number;
  /** Groups of layers (`all-linear`, `attention+mlp` …), a regular expression, or names of layers. */
  targets: string | readonly string[];
  dropout: number;
  vision: boolean;
  rslora: boolean;
}

export interface EngineComponent<Options = unknown> extends ComponentBase<
  'engine',
  Options,
  EngineContext,
  Promise<Engine>
> {
  /**
   * Environment variables of the learner that it reads, with descriptions: secrets, and addresses that receive
   * secrets.
   */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Whether a service holds the weights. Then `modelDir` has all files of the model except its weights. As the engine
   * of a teacher, it gets one model without training, and `loadState` with the teacher's checkpoint, if there is one.
   */
  readonly remote?: boolean;
}
