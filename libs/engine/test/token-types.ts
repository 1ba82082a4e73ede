import type { LossAggregation, PolicyLoss } from '@ui-rl/algorithms';
import type { LoraConfig, ProcessedImage, Quantization, WeightType } from '@ui-rl/models';

export type Device = 'cpu' | 'webgpu' | 'cuda';

/** What is trained: an adapter over frozen weights, all weights, or nothing (`frozen`: to sample and to score). */
export type Trainable =
  { mode: 'lora'; lora: LoraConfig; adapterDir?: string } | { mode: 'full' } | { mode: 'frozen' };

export interface EngineOptions {
  /** Hugging Face folder of the model. */
  modelDir: string;
  device: Device;
  trainable: Trainable;
  /** Sequences generated at the same time. */
  maxRows: number;
  /** Longest sequence, prompt and response together, in tokens. */
  maxSequence: number;
  /** Threads within one operation; the machine's cores unless given. */
  threads?: number;
  /** A row's result depends neither on its neighbours nor on its place in the batch. */
  deterministic?: boolean;
  /** Seeds fresh adapter weights. */
  seed: number;
  optimizer?: OptimizerOptions;
  microBatch?: MicroBatchLimits;
  /**
   * Whether activations are computed again in the backward pass, layer by layer, instead of kept: `auto` (default) where
   * those of a pass would take more than an eighth of the machine's memory.
   */
  gradientCheckpointing?: 'auto' | 'on' | 'off';
  /** The type frozen weights are held in; default `auto`: as they are stored, small models as float32. */
  weights?: WeightType;
  /** Frozen linear layers in few bits, with one scale per 32 numbers; default `none`. Needs an adapter to train. */
  quantization?: 'none' | Quantization;
  /** Where converted and quantized copies of weights are kept; default `~/.cache/ui-rl`. */
  cacheDir?: string;
}

export interface OptimizerOptions {
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  weightDecay?: number;
}

/** What one forward and backward pass may hold at most; more memory buys fewer, larger passes. */
export interface MicroBatchLimits {
  /** Samples. */
  rows?: number;
  /** Tokens, padding included. */
  tokens?: number;
  /** Image patches. */
  patches?: number;
}

export interface Prompt {
  /** Image placeholders included. */
  tokenIds: ArrayLike<number>;
  /** In order of their placeholders. */
  images: ProcessedImage[];
}

export interface GenerateRequest {
  prompt: Prompt;
  maxTokens: number;
  /** 0 = greedy. */
  temperature: number;
  topP: number;
  /** The same seed and prompt give the same tokens (bit for bit in deterministic mode). */
  seed: number;
  /** `latest`, or the id of a snapshot. */
  policy?: string;
  /** Tokens that end the response besides the model's own. */
  stopTokenIds?: number[];
}

export interface GenerateResult {
  /** Stop token included. */
  tokenIds: number[];
  /**
   * log-probability of each token under softmax(logits / temperature), at temperature 1 for greedy decoding, before the
   * cut by top-p: what the trainer computes for the same token.
   */
  logprobs: number[];
  finishReason: 'stop' | 'length';
  policyVersion: number;
  adapterDigest: string;
}

/** One sequence to train on: prompt and response as they were sampled. */
export interface TrainSample {
  tokenIds: ArrayLike<number>;
  /** In order of their placeholders. Samples of a step share images of the same key. */
  images: ProcessedImage[];
  /** 1 where the token at this position is trained, that is, was sampled. As long as `tokenIds`. */
  mask: ArrayLike<number>;
  /**
   * What is to be predicted at each position, where that is not the token of the sequence itself: with it, image placeholders
   * can be trained to name what they show. Left out, the tokens themselves.
   */
  targets?: ArrayLike<number>;
  /** Advantage per position, or one for all. */
  advantages: ArrayLike<number> | number;
  /** Log-probability at sampling time per position; left out for supervised training. */
  oldLogprobs?: ArrayLike<number>;
  /** The temperature it was sampled at; 0 and nothing count as 1. */
  temperature?: number;
  /** Factor on this sample's tokens after aggregation, 1 unless given. */
  weight?: number;
}

export interface LossOptions extends PolicyLoss {
  aggregation: LossAggregation;
  /** The divisor of aggregation `constant`, in tokens. */
  constantTokens?: number;
}

export interface TrainStepRequest {
  samples: TrainSample[];
  loss: LossOptions;
  learningRate: number;
  /** Gradients are scaled down to this norm; 0 = no clipping. */
  maxGradNorm: number;
  /** The batch goes through in at least this many passes (gradient accumulation), 1 unless given. */
  minibatches?: number;
}

export interface TrainStepResult {
  /** `optim/loss`, `optim/grad_norm`, `optim/kl_sample_train_v1` … */
  metrics: Record<string, number>;
  /** Optimizer steps behind the weights now. */
  version: number;
  digest: string;
}

/** Log-probability of each position's token given what precedes it; NaN at position 0 and where the mask is 0. */
export type SampleLogprobs = Float32Array;

export interface EngineInfo {
  modelDir: string;
  family: string;
  device: Device;
  mode: Trainable['mode'];
  version: number;
  digest: string;
  trainedParameters: number;
  /** Ids that `policy` may name besides `latest`. */
  snapshots: string[];
  maxRows: number;
  maxSequence: number;
  rowsActive: number;
  rowsWaiting: number;
  generatedTokens: number;
  /** Prompts that were not read because a row in generation had the same. */
  sharedPrompts: number;
  /** Milliseconds spent in decoding, reading prompts, encoding images and training since the start. */
  times: { decodeMs: number; decodeIterations: number; prefillMs: number; visionMs: number; trainMs: number };
}

/** What a checkpoint folder says of the weights in it (`engine.json`). */
export interface WeightsInfo {
  version: number;
  digest: string;
}
