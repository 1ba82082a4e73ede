import type { Graph, Tensor, Value } from '@ui-rl/graph';
import type { ParameterSource } from '../nn/parameters';

/** One weight of a model, as its checkpoint names and shapes it. */
export interface ParameterSpec {
  name: string;
  shape: number[];
  /** how a new model starts, see `initializeWeights` */
  initial: 'normal' | 'residual' | 'zeros' | 'ones' | 'positions';
}

/** One linear layer: what LoRA can be added to. `name` is the module, without `.weight`. */
export interface LinearSpec {
  name: string;
  inFeatures: number;
  outFeatures: number;
  part: 'text' | 'vision';
  group: 'attention' | 'mlp' | 'merger';
}

/** An image as the image processor prepares it: patches [P, channels·patch·patch] in merge-block order. */
export interface ImageInput {
  patches: Float32Array;
  /** frames, rows and columns of patches */
  grid: readonly [number, number, number];
}

/** What the engine needs to know about a model, whatever its family. */
export interface ModelShape {
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  kvHeads: number;
  headDim: number;
  maxPositions: number;
  imageTokenId: number;
  /** how many deepstack feature tensors accompany the image features */
  deepstack: number;
}

/** Tensors to feed a graph, by input name. */
export type Feeds = Record<string, Tensor>;

/** Where the features of one image lie: its first row in `image_features`, and its grid of patches. */
export interface PlacedImage {
  grid: readonly [number, number, number];
  firstRow: number;
}

/** A prompt to prefill. `images` in the order of their placeholders. */
export interface PromptRow {
  tokenIds: readonly number[];
  images: readonly PlacedImage[];
  /** softmax temperature of the token that follows, default 1 */
  temperature?: number;
}

/** One row of a decoding step. */
export interface DecodeRow {
  /** the token sampled last */
  tokenId: number;
  /** tokens of this row that are in the cache already */
  cached: number;
  /** rotary position of this token: {@link Family.nextPosition} of the prompt, plus one per token since */
  position: number;
  /** softmax temperature of the token that follows, default 1 */
  temperature?: number;
}

/** A sample to train on. */
export interface TrainerRow {
  tokenIds: readonly number[];
  /** indices into the batch's images, in the order of their placeholders */
  images: readonly number[];
  /** 1 where the token is trained (its log-probability given all before it); the first token cannot be */
  mask: ArrayLike<number>;
  /** what is to be predicted at each position, where that is not the token of the sequence itself */
  targets?: ArrayLike<number>;
  /** softmax temperature of the log-probabilities, default 1 */
  temperature?: number;
}

/** The feeds of one training batch, and which token each log-probability belongs to. */
export interface TrainerBatch {
  feeds: Feeds;
  /** log-probability m belongs to token `token` of row `row` */
  selected: { row: number; token: number }[];
}

/** Image features of a batch: rows of all images below each other, each image padded to the longest. */
export interface VisionForward {
  graph: Graph;
  /** [F, hidden], F = images · padded tokens per image */
  features: Value;
  /** each [F, hidden] */
  deepstack: Value[];
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * The decoder with key/value caches. Outputs `logits` [B, vocab] of each row's last token and `probabilities` [B, vocab], their
 * softmax under the row's temperature; what a pass adds to the caches are outputs `new_*`.
 */
export interface SamplerForward {
  graph: Graph;
  logits: Value;
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * The whole forward pass as a pure function that a loss can be appended to. Nothing is an output of the graph yet.
 */
export interface TrainerForward {
  graph: Graph;
  /** [M] log-probability of each selected token under its temperature */
  logProbs: Value;
  /** builds the entropy [M] of the distribution at each selected position */
  entropy: () => Value;
  parameterInputs: ReadonlyMap<string, Value>;
}

export interface VisionOptions {
  kind: 'vision';
  parameters: ParameterSource;
}

export interface SamplerOptions {
  kind: 'sampler';
  parameters: ParameterSource;
  /** `prompt`: reads whole prompts into empty caches; `token`: one more token per row, over caches */
  pass: 'prompt' | 'token';
  /** whether the graph takes image features; only for prompts */
  images: boolean;
}

export interface TrainerOptions {
  kind: 'trainer';
  parameters: ParameterSource;
  /** `patches`: the vision tower is part of the graph; `features`: its results are inputs; `none`: text only */
  images: 'patches' | 'features' | 'none';
}

export interface TrainerFeedOptions {
  images: TrainerOptions['images'];
  /** rows are padded to a multiple of this, default 1 */
  padTo?: number;
  /** memory that may be taken for the patches, of a batch that is done with */
  memory?: Float32Array;
}

export type ForwardOptions = VisionOptions | SamplerOptions | TrainerOptions;

/** A model family bound to one configuration: its weights, its graphs, and how to feed them. */
export interface Family {
  readonly name: string;
  readonly shape: ModelShape;
  /**
   * what checkpoint files call a weight of {@link parameters}, whose names are those of the model's modules, as PEFT knows
   * them; files may use either
   */
  readonly checkpointName: (name: string) => string;
  /** every weight of the checkpoint */
  parameters(): ParameterSpec[];
  /** every linear layer that LoRA may be added to (the output layer is not among them) */
  linears(): LinearSpec[];
  /** how many tokens an image of this grid takes in the prompt */
  imageTokens(grid: readonly [number, number, number]): number;
  /** rotary positions [3, T] (time, height, width) of a prompt; grids in the order of the placeholders */
  positions(tokenIds: readonly number[], grids: readonly (readonly [number, number, number])[]): Int32Array;
  /** the rotary position of the first token after a prompt */
  nextPosition(tokenIds: readonly number[], grids: readonly (readonly [number, number, number])[]): number;

  buildForward(options: VisionOptions): VisionForward;
  buildForward(options: SamplerOptions): SamplerForward;
  buildForward(options: TrainerOptions): TrainerForward;

  /** feeds of the vision graph; image n's features begin at row `firstRows[n]` */
  visionFeeds(images: readonly ImageInput[]): { feeds: Feeds; firstRows: number[] };
  /**
   * feeds of the sampler for whole prompts, right-padded; caches, image features and parameters are the caller's.
   * `featureRows` counts the rows of those image features, null for a sampler built without images
   */
  prefillFeeds(rows: readonly PromptRow[], featureRows: number | null): Feeds;
  /** feeds of the sampler for one more token per row; `capacity` is the room of each row in the caches it is fed */
  decodeFeeds(rows: readonly DecodeRow[], capacity: number): Feeds;
  /** feeds of the trainer; with `images: 'features'` the features of {@link visionFeeds} over the same images are the caller's */
  trainerFeeds(
    rows: readonly TrainerRow[],
    images: readonly ImageInput[],
    options: TrainerFeedOptions,
  ): TrainerBatch;
}
