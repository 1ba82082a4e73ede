import type { Graph, Tensor, Value } from '@ui-rl/graph';
import type { ParameterSource } from '../nn/parameter-source';

/** One weight of a model, as its checkpoint names and shapes it. */
export interface ParameterSpec {
  name: string;
  shape: number[];
  /** how a new model starts, see `initializeWeights` */
  initial: 'normal' | 'residual' | 'zeros' | 'ones' | 'positions' | 'decays';
  /** whether checkpoints hold each matrix of this stack transposed: both forms are read, that one is written */
  storedTransposed?: boolean;
}

/** One linear layer: what LoRA can be added to. `name` is the module, without `.weight`. */
export interface LinearSpec {
  name: string;
  inFeatures: number;
  outFeatures: number;
  part: 'text' | 'vision';
  group: 'attention' | 'mlp' | 'merger' | 'router' | 'experts';
  /** its result is added to the residual stream: it starts smaller, so that depth does not blow that up (GPT-2) */
  residual?: boolean;
  /**
   * a stack of so many such layers without bias, of which each row passes `used`: one weight [count, out, in] that is called
   * `name` alone
   */
  stack?: { count: number; used: number };
}

/** How an image was cut: all that the number, the order and the positions of its features depend on. */
export interface ImageGeometry {
  /** pictures (frames, or an overview and tiles), rows and columns of patches in each */
  grid: readonly [number, number, number];
  /** rows and columns of tiles, where the image was cut into several pictures */
  tiles?: readonly [number, number];
  /** rows and columns of patches that show the image, where its tiles have a margin around it */
  shown?: readonly [number, number];
  /** rows and columns of patches in each picture, where they differ; `grid` then has those of the largest */
  pictures?: readonly (readonly [number, number])[];
}

/** An image as the image processor prepares it: patches [P, channels·patch·patch], picture after picture. */
export interface ImageInput extends ImageGeometry {
  patches: Float32Array;
}

/** What stands in a prompt in the place of the template's image token. */
export interface ImageText {
  /** text in which each image token stands for a run of them */
  text: string;
  /** how long each of those runs is; together as long as the image has features */
  runs: readonly number[];
}

/** What the engine needs to know about a model, whatever its family. */
export interface ModelShape {
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  layers: number;
  /** layers whose keys and values are remembered */
  kvLayers: number;
  kvHeads: number;
  headDim: number;
  /** numbers that the other layers remember of a sequence, whatever its length */
  stateSize: number;
  maxPositions: number;
  imageTokenId: number;
  /** pixels per patch and axis */
  patchSize: number;
}

/** Tensors to feed a graph, by input name. */
export type Feeds = Record<string, Tensor>;

/** An image whose features lie below those of others, from a row on. */
export interface PlacedImage extends ImageGeometry {
  firstRow: number;
}

/** A prompt to prefill. `images` in the order of their placeholders. */
export interface PromptRow {
  tokenIds: readonly number[];
  images: readonly PlacedImage[];
  /** softmax temperature of the token that follows, default 1 */
  temperature?: number;
  /** tokens that are in the cache already, and not read; default 0 */
  cached?: number;
  /** tokens to read up to; default all */
  until?: number;
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

/** A sequence to train on or to score. */
export interface TrainerRow {
  tokenIds: readonly number[];
  /** indices into the batch's images, in the order of their placeholders */
  images: readonly number[];
  /** what each position is to predict: as a rule the token that follows it */
  targets: ArrayLike<number>;
  /** not 0 at the positions whose target's log-probability is wanted */
  selected: ArrayLike<number>;
  /** softmax temperature of the log-probabilities, default 1 */
  temperature?: number;
}

/** The feeds of one training batch, and which position each log-probability belongs to. */
export interface TrainerBatch {
  feeds: Feeds;
  /** log-probability m is that of the target of position `position` of row `row` */
  selected: { row: number; position: number }[];
  /** rows of image features that each image takes, padding included; image follows image */
  featureRows: number[];
}

/** Rows of numbers that the vision graph gives for images and the decoder takes: an output there, an input here. */
export interface FeaturePort {
  name: string;
  /** numbers per row */
  width: number;
}

/** The keys or values of a decoder layer: the cache it reads, and what it adds. */
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

/** What a layer of linear attention remembers of each row, whatever its length. */
export interface StatePort {
  /** input [B, ...shape] of a pass over caches: zeros for rows without tokens */
  past: string;
  /** output [B, ...shape], behind the last token that the pass reads of each row */
  next: string;
  shape: readonly number[];
}

/** Image features of a batch: rows of all images below each other, each image padded to the longest. */
export interface VisionForward {
  graph: Graph;
  /** [F, width] each, F = images · padded tokens per image; outputs as {@link Family.features} names them, in that order */
  features: readonly Value[];
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * The decoder with key/value caches. Outputs `logits` [B, vocab] of each row's last token and `probabilities` [B, vocab], their
 * softmax under the row's temperature.
 */
export interface SamplerForward {
  graph: Graph;
  logits: Value;
  /** of each layer that has keys and values */
  kv: readonly KvPorts[];
  /** of the other layers */
  states: readonly StatePort[];
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * The whole forward pass as a pure function that a loss can be appended to. Nothing is an output of the graph yet.
 */
export interface TrainerForward {
  graph: Graph;
  /** [M, hidden] of the selected tokens, normalized: what the output layer reads */
  hidden: Value;
  /** [M] log-probability of each selected token under its temperature */
  logProbs: Value;
  /** builds the entropy [M] of the distribution at each selected position */
  entropy: () => Value;
  parameterInputs: ReadonlyMap<string, Value>;
}

/** The same with a value head in the place of the output layer: weights `valueHeadParameters`, besides those of the family. */
export interface CriticForward {
  graph: Graph;
  /** [M] value of the state before each selected token's target, as the value head reads it off the hidden state */
  values: Value;
  parameterInputs: ReadonlyMap<string, Value>;
}

/**
 * How attention is computed: with all scores at once, fastest for short sequences; or in blocks of queries, whose memory grows
 * with the length and not with its square (default `whole`).
 */
export type AttentionKind = 'whole' | 'blocks';

export interface VisionOptions {
  kind: 'vision';
  parameters: ParameterSource;
  attention?: AttentionKind;
}

export interface SamplerOptions {
  kind: 'sampler';
  parameters: ParameterSource;
  /**
   * `prompt`: reads prompts into empty caches; `continuation`: reads on in prompts, over caches that hold what comes before; `token`: one
   * more token per row, over caches
   */
  pass: 'prompt' | 'continuation' | 'token';
  /** whether the graph takes image features; not for single tokens */
  images: boolean;
  /** of the pass `prompt` */
  attention?: AttentionKind;
}

export interface TrainerOptions {
  kind: 'trainer';
  parameters: ParameterSource;
  /** `patches`: the vision tower is part of the graph; `features`: its results are inputs; `none`: text only */
  images: 'patches' | 'features' | 'none';
  attention?: AttentionKind;
  /** whether the adapter's dropout takes place; the graph then has the input `DROPOUT_SEED`. Default false */
  dropout?: boolean;
  /** whether distributions may be cut to some tokens, see {@link KEPT_INPUTS}. Default false */
  truncated?: boolean;
}

/** Feeds are those of a trainer. */
export interface CriticOptions extends Omit<TrainerOptions, 'kind' | 'truncated'> {
  kind: 'critic';
}

/** Inputs of a trainer's graph whose distributions may be cut: M selected positions, K tokens at most that are left of one. */
export const KEPT_INPUTS = {
  /** int64 [M, K] the tokens that are left; anything where there are fewer */
  tokens: 'kept_tokens',
  /** [M, K] 0, or a large negative number where there are fewer; the first of a row is always 0 */
  bias: 'kept_bias',
  /** [M] 1 where the distribution is cut, 0 where it is whole */
  isCut: 'is_cut',
} as const;

export interface TrainerFeedOptions {
  images: TrainerOptions['images'];
  /** rows are padded to a multiple of this, default 1 */
  padTo?: number;
  /** memory that may be taken for the patches, of a batch that is done with */
  memory?: Float32Array;
}

export type ForwardOptions = VisionOptions | SamplerOptions | TrainerOptions | CriticOptions;

/** See `Family.finishPrompt`; `spacesAdded` tells a tokenizer that puts a space before text behind a special token itself. */
export type FinishPrompt = (text: string, tokenizer: { spacesAdded: boolean }) => string;

/** A model family bound to one configuration: its weights, its graphs, and how to feed them. */
export interface Family {
  readonly name: string;
  readonly shape: ModelShape;
  /** what goes from the vision tower to the decoder */
  readonly features: readonly FeaturePort[];
  /** tokens that stand for something no answer can hold, such as image placeholders */
  readonly neverSampled: readonly number[];
  /**
   * what checkpoint files call a weight of {@link parameters}, whose names are those of the model's modules, as PEFT knows
   * them; files may use either. Applied to a name it gave, the next name that files may use; at last the same again
   */
  readonly checkpointName: (name: string) => string;
  /** every weight of the checkpoint */
  parameters(): ParameterSpec[];
  /** every linear layer that LoRA may be added to (the output layer is not among them) */
  linears(): LinearSpec[];
  /**
   * how many tokens an image takes in the prompt, as many as it has features
   * @throws ModelError where the model cannot take an image cut like this
   */
  imageTokens(image: ImageGeometry): number;
  /** what stands in the prompt for an image; `imageToken` is the token of {@link ModelShape.imageTokenId} */
  imageText(image: ImageGeometry, imageToken: string): ImageText;
  /**
   * the text of a prompt in which its images stand, where more than that is to be done; message texts that spell special
   * tokens stand in it between U+E0FE and U+E0FF
   */
  finishPrompt?: FinishPrompt;
  /** tokens of {@link imageText} that messages must not be able to write, whether the tokenizer calls them special or not */
  readonly imageMarks: readonly string[];
  /** rotary positions [3, T] (time, height, width) of a prompt; images in the order of the placeholders */
  positions(tokenIds: readonly number[], images: readonly ImageGeometry[]): Int32Array;
  /** the rotary position of the first token after a prompt */
  nextPosition(tokenIds: readonly number[], images: readonly ImageGeometry[]): number;

  buildForward(options: VisionOptions): VisionForward;
  buildForward(options: SamplerOptions): SamplerForward;
  buildForward(options: TrainerOptions): TrainerForward;
  buildForward(options: CriticOptions): CriticForward;

  /** feeds of the vision graph; image n's features begin at row `firstRows[n]` */
  visionFeeds(images: readonly ImageInput[]): { feeds: Feeds; firstRows: number[] };
  /**
   * feeds of the sampler for prompts, right-padded; caches, image features and parameters are the caller's.
   * `featureRows` counts the rows of those image features, null for a sampler built without images; `capacity` is the room of each
   * row in the caches, for the pass `continuation`. Features of images none of whose places are read are not needed.
   */
  prefillFeeds(rows: readonly PromptRow[], featureRows: number | null, capacity?: number): Feeds;
  /** feeds of the sampler for one more token per row; `capacity` is the room of each row in the caches it is fed */
  decodeFeeds(rows: readonly DecodeRow[], capacity: number): Feeds;
  /** feeds of the trainer; with `images: 'features'` the features of {@link visionFeeds} over the same images are the caller's */
  trainerFeeds(
    rows: readonly TrainerRow[],
    images: readonly ImageInput[],
    options: TrainerFeedOptions,
  ): TrainerBatch;
}
