import type { LinearSpec } from '@ui-rl/models';

/**
 * Required floating-point operations of one training step, computed from the model's shapes for the actual tokens and
 * patches: without padding, recomputation or element-wise operations.
 *
 *     product of [n, in] and [in, out]            2 · n · in · out
 *     linear layer, weight trained                3 products: forward, gradient of the input, gradient of the weight
 *     linear layer, weight frozen                 2 products: forward, gradient of the input
 *     layer whose input needs no gradient         1 product less: patch embedding; with frozen vision and embeddings
 *                                                 the query, key and value layers of the first decoder layer
 *     LoRA of rank r on [in, out]                 layers [in, r] and [r, out], both trained
 *     experts                                     those that a router selects for a token, each a linear layer
 *     causal attention over T tokens, width w     4 · w · T · (T + 1) / 2 forward, twice that backward
 *     attention over the P patches of an image    4 · w · P² forward, twice that backward
 *     last decoder layer                          queries, output and feed-forward only at the positions from which a
 *                                                 trained token is predicted; so is the output layer
 *     vision tower                                once per distinct image if trained; if frozen, its features
 *                                                 come from a cache and cost nothing
 */
export interface ModelCost {
  linears: readonly LinearSpec[];
  hiddenSize: number;
  vocabSize: number;
  /** Input values of one patch, which the patch embedding maps to the vision tower's width. */
  patchSize: number;
  /** Patches that are merged into one token. */
  patchesPerToken: number;
}

/** Sizes of one step. */
export interface StepCost {
  /**
   * Tokens of each sample, and the positions of the trained ones: token t is predicted from the t tokens before it.
   */
  samples: readonly { tokens: number; trained: readonly number[] }[];
  /** Patches of each distinct image. */
  images: readonly { patches: number }[];
}

export type TrainedPart = { mode: 'full' } | { mode: 'lora'; rank: number };

/** A linear layer applied to `rows` rows. */
interface Layer {
  rows: number;
  inFeatures: number;
  outFeatures: number;
  /** Whether a gradient flows to the layer's input. */
  passesGradient: boolean;
}

function product({ rows, inFeatures, outFeatures }: Layer): number {
  return 2 * rows * inFeatures * outFeatures;
}

function trainedLayer(layer: Layer): number {
  return product(layer) * (layer.passesGradient ? 3 : 2);
}

function adaptedLayer(layer: Layer, rank: number): number {
  const frozen = product(layer) * (layer.passesGradient ? 2 : 1);
  const down = trainedLayer({ ...layer, outFeatures: rank });
  const up = trainedLayer({ ...layer, inFeatures: rank, passesGradient: true });
  return frozen + down + up;
}

function layerNumber(name: string): number {
  return Number(/\.layers\.(\d+)\./.exec(name)?.[1] ?? -1);
}

function textFlops({ linears, hiddenSize, vocabSize }: ModelCost, step: StepCost, part: TrainedPart): number {
  const text = linears.filter((linear) => linear.part === 'text');
  const last = Math.max(...text.map(({ name }) => layerNumber(name)));
  const cost = (layer: Layer): number =>
    part.mode === 'full' ? trainedLayer(layer) : adaptedLayer(layer, part.rank);
  let total = 0;
  for (const { tokens, trained } of step.samples) {
    const allPairs = (tokens * (tokens + 1)) / 2;
    const neededPairs = trained.reduce((sum, place) => sum + place, 0);
    for (const { name, inFeatures, outFeatures, stack } of text) {
      const needsAllTokens = layerNumber(name) < last || /\.(k_proj|v_proj)$/.test(name);
      const isFirst = layerNumber(name) === 0 && /\.(q_proj|k_proj|v_proj)$/.test(name);
      const rows = (needsAllTokens ? tokens : trained.length) * (stack?.used ?? 1);
      total += cost({ rows, inFeatures, outFeatures, passesGradient: part.mode === 'full' || !isFirst });
      if (name.endsWith('.q_proj')) total += 3 * 4 * outFeatures * (needsAllTokens ? allPairs : neededPairs);
    }
    const head = { rows: trained.length, inFeatures: hiddenSize, outFeatures: vocabSize };
    total += product({ ...head, passesGradient: true }) * (part.mode === 'full' ? 3 : 2);
  }
  return total;
}

function visionFlops({ linears, patchSize, patchesPerToken }: ModelCost, step: StepCost): number {
  const vision = linears.filter((linear) => linear.part === 'vision');
  let total = 0;
  for (const { patches } of step.images) {
    for (const { name, group, inFeatures, outFeatures } of vision) {
      const rows = group === 'merger' ? patches / patchesPerToken : patches;
      total += trainedLayer({ rows, inFeatures, outFeatures, passesGradient: true });
      if (name.endsWith('.attn.proj')) total += 3 * 4 * inFeatures * patches ** 2;
    }
    const width = vision[0].inFeatures;
    total += trainedLayer({
      rows: patches,
      inFeatures: patchSize,
      outFeatures: width,
      passesGradient: false,
    });
  }
  return total;
}

/** Floating-point operations of one optimizer step, without the optimizer itself. */
export function trainStepFlops(model: ModelCost, step: StepCost, part: TrainedPart): number {
  const text = textFlops(model, step, part);
  return part.mode === 'full' ? text + visionFlops(model, step) : text;
}
