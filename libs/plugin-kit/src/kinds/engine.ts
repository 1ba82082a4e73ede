import type { ComponentBase, Log } from './component';
import type { LossInput, LossModel } from './policy-loss';

/** A part of a model input, in order. Tokens of all chunks together are the sequence. */
export type ModelInputChunk =
  | { type: 'text'; tokens: ArrayLike<number> }
  /**
   * Takes `tokens` places of the sequence. Bytes are asked for by hash where the engine does not have them (any more). Where text
   * stands between the places of one image, further parts of it are chunks with `continues`.
   */
  | { type: 'image'; sha256: string; tokens: number; continues?: boolean };

export interface ModelInput {
  chunks: readonly ModelInputChunk[];
}

/**
 * One sequence to learn from or to score. Arrays have one element per position of `modelInput`; position i speaks of
 * `targetTokens[i]`, the token that follows it (already shifted, as in Tinker's API).
 */
export interface Datum {
  modelInput: ModelInput;
  /** [L] what each position is to predict. */
  targetTokens: ArrayLike<number>;
  /** [L] weight of each position in the loss; 0: not trained. All aggregation (means over tokens, sequences) lies in here. */
  weights: ArrayLike<number>;
  /** [L] each, what the loss declares, besides the above. */
  lossInputs?: Readonly<Partial<Record<LossInput, ArrayLike<number>>>>;
  /** Softmax temperature of its log-probabilities: the one it was sampled at. 0 and nothing count as 1. */
  temperature?: number;
  /**
   * [L] tokens, rising, that the distribution at each position is cut to, the target among them: log-probabilities are those of softmax
   * over these alone. Empty: all tokens.
   */
  keptTokens?: readonly ArrayLike<number>[];
  /** Data of the same sequence share one loss value where the scope is `sequence` or `pair`. Default: each datum is its own. */
  sequence?: string;
  /** For the scope `pair`: the pair this sequence belongs to, and on which side. Both sides go through one pass. */
  pair?: { id: string; side: 'chosen' | 'rejected' };
}

/** A component by name, as it travels over threads and wires; options as its class has completed them. */
export interface ComponentChoice {
  name: string;
  [option: string]: unknown;
}

/**
 * Which weights a verb means: `policy` (the newest of what is trained), `base` (the adapter off), `critic`, the name of another
 * trained model, or weights that `saveWeightsForSampler` named.
 */
export type ModelName = string;

/** Who asks for a sample. Where all want the device, each class has its share of it. */
export type SampleClass = 'training' | 'evaluation' | 'outside';

/** Tokens that a distribution is cut to, at most: where `topP` or a grammar leaves more, the likeliest of them. */
export const MAX_KEPT_TOKENS = 512;

export interface SampleRequest {
  model: ModelName;
  prompt: ModelInput;
  maxTokens: number;
  /** 0 = greedy. */
  temperature: number;
  /** The smallest set of likeliest tokens with so much probability together is sampled from; 1: all. */
  topP: number;
  /** So many of the likeliest tokens are sampled from; 0 or nothing: all. Comes before `topP`, which is then a share of theirs. */
  topK?: number;
  /** The same seed and prompt give the same tokens (bit for bit where the engine is deterministic). */
  seed: number;
  /** Tokens that end the answer besides the model's own. */
  stop?: readonly number[];
  /** Told when the prompt begins to be read, before which the request waited; never, where a sampler cannot. */
  onBegin?: () => void;
  /** Told of each token as it is sampled; never, where a sampler cannot. */
  onToken?: (token: number, logprob: number) => void;
  /** May go on with other weights after some of its tokens (`moveSamples`). */
  movable?: boolean;
  /**
   * A regular expression that the whole answer must match: only tokens are sampled that can lead there, and it ends where it may. See
   * `Dialect.grammar`. `keptTokens` says what was left.
   */
  grammar?: string;
  /** Default `outside`. */
  class?: SampleClass;
  /** Aborted once nobody waits for the answer: sampling ends, and the call rejects with the signal's reason. */
  signal?: AbortSignal;
}

export interface SampleResult {
  /** Stop token included. */
  tokens: number[];
  /**
   * Log-probability of each token under softmax(logits / temperature), at temperature 1 for greedy decoding; where the distribution was
   * cut, under softmax over what was left.
   */
  logprobs: number[];
  /** Where distributions were cut: for each token those it was drawn from, rising; empty where it was drawn from all. */
  keptTokens?: readonly ArrayLike<number>[];
  stopReason: 'stop' | 'length';
  /** Digest of the weights that sampled; of the first ones where others went on. */
  digest: string;
  /** Which weights sampled which tokens, in order, where others went on. */
  spans?: readonly WeightsSpan[];
}

/** Tokens in a row that the same weights sampled. */
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
  /** Of a critic, per datum [L]: value of the state in which the target was chosen; NaN where the weight is 0. */
  values?: Float32Array[];
}

export interface ForwardBackwardRequest extends ForwardRequest {
  loss: ComponentChoice;
  /** Terms that are added to the loss of a policy; the data have what they read. */
  regularizers?: readonly ComponentChoice[];
  /** Passes the data goes through at least, 1 unless given. */
  minPasses?: number;
}

export interface ForwardBackwardResult extends ForwardResult {
  /** `loss` (Σ weight · loss), `entropy` (mean over trained tokens), `tokens`, `passes`, `loss/<name>`, `regularizer/<name>` … */
  metrics: Record<string, number>;
}

export interface OptimStepRequest {
  model: ModelName;
  optimizer: ComponentChoice;
  learningRate: number;
  /** Gradients are scaled down together to this norm; 0 = never. */
  maxGradNorm: number;
}

export interface OptimStepResult {
  /** `grad_norm` … */
  metrics: Record<string, number>;
  weights: WeightsInfo;
}

/** Which weights these are. */
export interface WeightsInfo {
  /** Optimizer steps behind them; 0 is the model as loaded. */
  version: number;
  /** sha256 of the trained weights, hex. */
  digest: string;
}

export interface EngineInfo {
  name: string;
  /** Where it runs, in a word: a run that goes on gives it as `device` of the context. */
  device: string;
  /** Why there, in words. */
  deviceReason?: string | undefined;
  trainedParameters: number;
  /** Models and weights that verbs may name. */
  models: readonly ModelName[];
  maxSequence: number;
  /** What there is to know besides, for people. */
  [detail: string]: unknown;
}

/**
 * Trains and samples: six verbs, named as in Tinker's API. The learner knows nothing else of training. Calls may overlap; verbs
 * that change or write weights run one after the other. Every verb rejects with an error whose `category` is `request` (what was
 * asked cannot be done), `checkpoint` (a folder does not hold what it should) or `worker` (the engine is gone).
 */
export interface Engine {
  sample(request: SampleRequest): Promise<SampleResult>;
  /** Log-probabilities, nothing is learned. */
  forward(request: ForwardRequest): Promise<ForwardResult>;
  /** Gradients of Σ weight · loss, added to those of calls before, until `optimStep`. A failed call adds nothing. */
  forwardBackward(request: ForwardBackwardRequest): Promise<ForwardBackwardResult>;
  /** Changes the weights by the accumulated gradients, and forgets these. Throws, and changes nothing, where they are not finite. */
  optimStep(request: OptimStepRequest): Promise<OptimStepResult>;
  /** Weights, optimizer state and further files into a folder that appears complete or not at all. */
  saveState(request: {
    model: ModelName;
    dir: string;
    files?: Readonly<Record<string, string>>;
  }): Promise<WeightsInfo>;
  /**
   * Told before a folder that `saveState` wrote is deleted, since nobody is to go on from it. Engines whose weights lie elsewhere let go of
   * them there; others do not have it.
   */
  forgetState?(request: { dir: string }): Promise<void>;
  /** Goes on from a folder that `saveState` wrote; without `optimizer` its state starts anew. */
  loadState(request: { model: ModelName; dir: string; optimizer: boolean }): Promise<WeightsInfo>;
  /** Keeps the newest weights of a model, or those of a folder that `saveState` wrote, under a name that `sample` understands. */
  saveWeightsForSampler(request: { model: ModelName; name: string; dir?: string }): Promise<WeightsInfo>;
  /**
   * Samples of `from` that are `movable` go on with the weights `to` of the same model from their next token on; keys and values of the
   * tokens before stay as they are (PipelineRL, arXiv 2509.19128). Resolves when no token of theirs is sampled by `from` any more. Engines
   * that cannot do that do not have it.
   */
  moveSamples?(request: { from: ModelName; to: ModelName }): Promise<void>;
  /**
   * Writes such weights for other programs, into a folder that appears complete or not at all: an adapter in PEFT format, or a Hugging Face
   * folder where all weights are trained. The model as it was loaded (`isBase`) is written nowhere.
   */
  exportWeights(request: { name: string; dir: string }): Promise<WeightsInfo & { isBase: boolean }>;
  /** Lets go of such weights; what is being sampled with them ends normally. */
  releaseWeights(name: string): Promise<void>;
  /**
   * Trains one more model over the base, from fresh weights of a seed of its own or from those of a folder. Engines that cannot do that
   * do not have it.
   */
  addModel?(model: TrainedModel & { seed: number }): Promise<WeightsInfo>;
  /** Lets go of a model that `addModel` added, with its gradients; what is being sampled with it ends normally. */
  removeModel?(name: ModelName): Promise<void>;
  /** Forgets accumulated gradients. */
  discardGradients(model: ModelName): Promise<void>;
  info(): Promise<EngineInfo>;
  /** Resolves when the engine is gone, by `stop` or by a failure, with what calls are rejected with from then on. */
  readonly ended: Promise<Error>;
  stop(): Promise<void>;
}

export interface EngineContext {
  /** Hugging Face folder of the model, as resolved on this machine. */
  modelDir: string;
  /** The model as the run names it, such as `organisation/name` on the hub; undefined outside of runs. */
  modelName?: string;
  /** Folder of this machine for what can be made again, such as the weights in another type. */
  cacheDir: string;
  /** Models to train over it. */
  models: readonly TrainedModel[];
  /** Sequences sampled at the same time. */
  maxRows: number;
  /** Longest sequence, prompt and answer, in tokens. */
  maxSequence: number;
  /** Whether a row's result depends neither on its neighbours nor on its place in the batch. */
  deterministic: boolean;
  /** Seeds fresh weights. */
  seed: number;
  /** Tokens that end an answer of the model, each by itself; a request's `stop` adds others. */
  endTokenIds: readonly number[];
  /**
   * Where the run began, as `info` said then; undefined for one that begins. An engine that chooses by itself chooses the same: on another
   * device sums are rounded otherwise.
   */
  device?: string | undefined;
  /** Modules with further components, so that threads and processes of the engine can load losses and optimizers by name. */
  componentFiles: readonly string[];
  /** What the variables of the component's `environment` say on this machine; those that are not set are missing. */
  environment: Readonly<Record<string, string>>;
  /** A screenshot's bytes by hash; null where nobody has them any more. */
  fetchImage(sha256: string): Promise<Uint8Array | null>;
  log: Log;
  /** Told how far long preparations are. */
  onProgress(line: string): void;
}

/** What is trained: an adapter over frozen weights, or all weights. */
export interface TrainedModel {
  /** `policy`, `critic` … */
  name: ModelName;
  /**
   * A policy gives log-probabilities and can be sampled from. A critic gives values: it is an adapter with a scalar head over the same
   * frozen weights, also where the policy trains all of its own.
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
  /** Environment variables of the learner that it reads, and what each says: secrets, and addresses that are sent secrets. */
  readonly environment?: Readonly<Record<string, string>>;
}
