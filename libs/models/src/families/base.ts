import type { Graph, Tensor, Value } from '@ui-rl/graph';
import type { ParameterSource } from '../nn/parameter-source';

/** One weight of a model, with the name and shape in its checkpoint. */
export interface ParameterSpec {
  name: string;
  shape: number[];
  /** initialization of a new model, see `initializeWeights` */
  initial: 'normal' | 'residual' | 'zeros' | 'ones' | 'positions' | 'decays';
  /**
   * whether checkpoints store each matrix of this stack transposed: both forms are read, the transposed one is
   * written
   */
  storedTransposed?: boolean;
}

/** One linear layer to which LoRA can be applied. `name` is the module, without `.weight`. */
export interface LinearSpec {
  name: string;
  inFeatures: number;
  outFeatures: number;
  part: 'text' | 'vision';
  group: 'attention' | 'mlp' | 'merger' | 'router' | 'experts';
  /**
   * its result is added to the residual stream: it starts smaller, so that the variance does not grow with depth
   * (GPT-2)
   */
  residual?: boolean;
  /**
   * a stack of `count` such layers without bias, of which each row passes `used`: one weight [count, out, in], named
   * `name` without a suffix
   */
  stack?: { count: number; used: number };
}

/** The geometry of a cut image, which determines the number, order and positions of its features. */
export interface ImageGeometry {
  /** pictures (frames, or an overview and tiles), rows and columns of patches in each */
  grid: readonly [number, number, number];
  /** rows and columns of tiles, if the image was cut into several pictures */
  tiles?: readonly [number, number];
  /** rows and columns of patches that show the image, if its tiles have a margin around it */
  shown?: readonly [number, number];
  /** rows and columns of patches in each picture, if they differ; `grid` then describes the largest */
  pictures?: readonly (readonly [number, number])[];
}

/** The image processor's result: patches [P, channels·patch·patch], picture after picture. */
export interface ImageInput extends ImageGeometry {
  patches: Float32Array;
}

/** The text that replaces the template's image token in a prompt. */
export interface ImageText {
  /** text in which each image token stands for a run of them */
  text: string;
  /** length of each run; their sum is the image's number of features */
  runs: readonly number[];
}

/** Family-independent properties of a model that the engine uses. */
export interface ModelShape {
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  /** layers with keys and values in the cache */
  kvLayers: number;
  kvHeads: number;
  headDim: number;
  /** state size of the other layers per sequence, independent of its length */
  stateSize: number;
  maxPositions: number;
  imageTokenId: number;
  /** pixels per patch and axis */
  patchSize: number;
}

/** Input tensors of a graph, by name. */
export type Feeds = Record<string, Tensor>;

/** An image with the index of its first feature row among those of all images. */
export interface PlacedImage extends ImageGeometry {
  firstRow: number;
}

/** A prompt to prefill. `images` are in the order of their placeholders. */
export interface PromptRow {
  tokenIds: readonly number[];
  images: readonly PlacedImage[];
  /** softmax temperature of the next token, default 1 */
  temperature?: number;
  /** number of leading tokens that are already cached, default 0 */
  cached?: number;
  /** number of tokens to prefill up to, default all */
  until?: number;
}

/** One row of a decoding step. */
export interface DecodeRow {
  /** the last sampled token */
  tokenId: number;
  /** number of tokens of this row that are already cached */
  cached: number;
  /** rotary position of this token: {@link Family.nextPosition} of the prompt, plus one per token since */
  position: number;
  /** softmax temperature of the next token, default 1 */
  temperature?: number;
}

/** A sequence to train on or to score. */
export interface TrainerRow {
  tokenIds: readonly number[];
  /** indices into the batch's images, in the order of their placeholders */
  images: readonly number[];
  /** target of each position: usually the next token */
  targets: ArrayLike<number>;
  /** non-zero at positions whose target's log-probability is requested */
  selected: ArrayLike<number>;
  /** softmax temperature of the log-probabilities, default 1 */
  temperature?: number;
}

/** The feeds of one training batch, and the position of each log-probability. */
export interface TrainerBatch {
  feeds: Feeds;
  /** log-probability m is that of the target of position `position` of row `row` */
  selected: { row: number; position: number }[];
  /** feature rows of each image in order, padding included */
  featureRows: number[];
}

/** Feature rows that the vision graph computes and the decoder reads: an output there, an input here. */
export interface FeaturePort {
  name: string;
  /** numbers per row */
  width: number;
}

/** The keys or values of a decoder layer: its cache input and its additions. */
export interface CachePort {
  /** input [B, kvHeads, C, headDim] of a pass over caches */
  past: string;
  /** output [B, kvHeads, T, headDim] */
  added: string;
}

export interface KvPorts {
  key: CachePort;
  value: CachePort;
}

/** The state of a linear-attention layer for each row, independent of the row's length. */
export interface StatePort {
  /** input [B, ...shape] of a pass over caches: zeros for rows without tokens */
  past: string;
  /** output [B, ...shape], after the last token that the pass reads of each row */
  next: string;
  shape: readonly number[];
}

/** Image features of a batch: the rows of all images stacked, each image padded to the longest. */
export interface VisionForward {
  graph: Graph;
  /** [F, width] each, F = images · padded tokens per image; output names and order as in {@link Family.features} */
  features: readonly Value[];
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * The decoder with key/value caches. Outputs `logits` [B, vocab] of each row's last token and `probabilities` [B,
 * vocab], their softmax at the row's temperature.
 */
export interface SamplerForward {
  graph: Graph;
  logits: Value;
  /** of each layer with keys and values */
  kv: readonly KvPorts[];
  /** of the other layers */
  states: readonly StatePort[];
  parameterInputs: ReadonlyMap<string, Value>;
}

/** The whole forward pass as a pure function to which a loss can be appended. The graph has no outputs yet. */
export interface TrainerForward {
  graph: Graph;
  /** [M, hidden] of the selected tokens, normalized: the input of the output layer */
  hidden: Value;
  /** [M] log-probability of each selected token at its temperature */
  logProbs: Value;
  /** builds the entropy [M] of the distribution at each selected position */
  entropy: () => Value;
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * The same with a value head instead of the output layer: weights `valueHeadParameters`, in addition to those of the
 * family.
 */
export interface CriticForward {
  graph: Graph;
  /** [M] value of the state before each selected token's target, computed by the value head from the hidden state */
  values: Value;
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * Attention algorithm: with all scores at once, fastest for short sequences; or in blocks of queries, whose memory
 * grows linearly with the length instead of quadratically (default `whole`). A GPU is waited for after each block, so
 * it needs few, large ones.
 */
export type AttentionKind = 'whole' | 'blocks' | 'large blocks';

export interface VisionOptions {
  kind: 'vision';
  parameters: ParameterSource;
  attention?: AttentionKind;
  /**
   * Whether attention is a single operation of the CPU, where nothing needs a mask: it has no derivative, and all
   * images of a pass have the same grid. Default false
   */
  fused?: boolean;
}

export interface SamplerOptions {
  kind: 'sampler';
  parameters: ParameterSource;
  /**
   * `prompt`: prefills prompts into empty caches; `continuation`: continues prompts whose beginnings are cached;
   * `token`: appends one token per row to the caches
   */
  pass: 'prompt' | 'continuation' | 'token';
  /** whether the graph takes image features; not for single tokens */
  images: boolean;
  /** of the pass `prompt` */
  attention?: AttentionKind;
  /** whether large weights are the first operand of products with few rows, which suits CPUs. Default false */
  weightsFirst?: boolean;
}

export interface TrainerOptions {
  kind: 'trainer';
  parameters: ParameterSource;
  /** `patches`: the graph includes the vision tower; `features`: its results are inputs; `none`: text only */
  images: 'patches' | 'features' | 'none';
  attention?: AttentionKind;
  /** whether to apply the adapter's dropout; the graph then has the input `DROPOUT_SEED`. Default false */
  dropout?: boolean;
  /** whether distributions may be cut to some tokens, see {@link KEPT_INPUTS}. Default false */
  truncated?: boolean;
  /** whether the feeds are of packs, see {@link TrainerFeedOptions.packs}. Default false */
  packed?: boolean;
}

/** Feeds are the same as those of a trainer. */
export interface CriticOptions extends Omit<TrainerOptions, 'kind' | 'truncated'> {
  kind: 'critic';
}

/** Inputs of a trainer's graph with cut distributions: M selected positions, at most K kept tokens each. */
export const KEPT_INPUTS = {
  /** int64 [M, K] the kept tokens; any value as padding */
  tokens: 'kept_tokens',
  /** [M, K] 0 for kept tokens, a large negative number for padding; the first of a row is always 0 */
  bias: 'kept_bias',
  /** [M] 1 if the distribution is cut, 0 if it is whole */
  isCut: 'is_cut',
} as const;

/** Sequences that begin with the same tokens and images, which a pass reads once; the rest of each follows. */
export interface Pack {
  /** indices of the sequences */
  rows: readonly number[];
  /**
   * number of their first tokens that are the same, a multiple of {@link Family.packStep}; no position before is
   * selected, if there are several sequences
   */
  shared: number;
}

export interface TrainerFeedOptions {
  /**
   * a partition of the sequences, if the family has a {@link Family.packStep}; default: none is packed. A pack is one
   * row of the graph
   */
  packs?: readonly Pack[];
  images: TrainerOptions['images'];
  /** rows are padded to a multiple of this, default 1 */
  padTo?: number;
  /** memory of a finished batch to reuse for the patches */
  memory?: Float32Array;
}

export type ForwardOptions = VisionOptions | SamplerOptions | TrainerOptions | CriticOptions;

/**
 * See `Family.finishPrompt`; `spacesAdded` is true if the tokenizer itself adds a space before text after a special
 * token.
 */
export type FinishPrompt = (text: string, tokenizer: { spacesAdded: boolean }) => string;

/** A model family bound to one configuration: its weights, its graphs, and their feeds. */
export interface Family {
  readonly name: string;
  readonly shape: ModelShape;
  /** the data that the vision tower passes to the decoder */
  readonly features: readonly FeaturePort[];
  /** tokens that no answer may contain, such as image placeholders */
  readonly neverSampled: readonly number[];
  /**
   * alternative names of a weight of {@link parameters} in checkpoint files. The names of {@link parameters} are
   * those of the model's modules, as in PEFT; files may use either. Applied to its own result, it returns the next
   * alternative, and finally the same name again
   */
  readonly checkpointName: (name: string) => string;
  /** all weights of the checkpoint */
  parameters(): ParameterSpec[];
  /** all linear layers to which LoRA can be applied (excluding the output layer) */
  linears(): LinearSpec[];
  /**
   * number of prompt tokens of an image, equal to its number of features
   * @throws ModelError if the model cannot process an image cut like this
   */
  imageTokens(image: ImageGeometry): number;
  /** prompt text of an image; `imageToken` is the token of {@link ModelShape.imageTokenId} */
  imageText(image: ImageGeometry, imageToken: string): ImageText;
  /**
   * post-processes a prompt's text after images are inserted, if necessary; message texts that spell special tokens
   * are enclosed in U+E0FE and U+E0FF
   */
  finishPrompt?: FinishPrompt;
  /** text that chat templates write for an image; default: the token of {@link ModelShape.imageTokenId} */
  readonly templateImage?: string;
  /**
   * tokens of {@link imageText} that messages must not be able to produce, whether or not the tokenizer marks them as
   * special
   */
  readonly imageMarks: readonly string[];
  /**
   * whether the tokens of an image attend to each other in both directions: a pass must then read all of them or none
   */
  readonly wholeImages: boolean;
  /**
   * number of tokens, of which the sequences of a pack share a multiple, see {@link TrainerFeedOptions.packs};
   * undefined if a trainer reads each sequence by itself
   */
  readonly packStep: number | undefined;
  /** rotary positions [3, T] (time, height, width) of a prompt; images in the order of the placeholders */
  positions(tokenIds: readonly number[], images: readonly ImageGeometry[]): Int32Array;
  /** rotary position of the first token after a prompt */
  nextPosition(tokenIds: readonly number[], images: readonly ImageGeometry[]): number;

  buildForward(options: VisionOptions): VisionForward;
  buildForward(options: SamplerOptions): SamplerForward;
  buildForward(options: TrainerOptions): TrainerForward;
  buildForward(options: CriticOptions): CriticForward;

  /** feeds of the vision graph; image n's features begin at row `firstRows[n]` */
  visionFeeds(images: readonly ImageInput[]): { feeds: Feeds; firstRows: number[] };
  /**
   * feeds of the sampler for right-padded prompts; the caller adds caches, image features and parameters.
   * `featureRows` is the number of rows of those features, null for a sampler built without images; `capacity` is the
   * capacity of each row in the caches, for the pass `continuation`. Features of images outside the prefilled part
   * may be omitted.
   */
  prefillFeeds(rows: readonly PromptRow[], featureRows: number | null, capacity?: number): Feeds;
  /** feeds of the sampler for one more token per row; `capacity` is the capacity of each row in the caches */
  decodeFeeds(rows: readonly DecodeRow[], capacity: number): Feeds;
  /**
   * feeds of the trainer; with `images: 'features'`, the caller adds the features of {@link visionFeeds} over the
   * same images
   */
  trainerFeeds(
    rows: readonly TrainerRow[],
    images: readonly ImageInput[],
    options: TrainerFeedOptions,
  ): TrainerBatch;
}
