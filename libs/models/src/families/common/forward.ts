import { Graph, ops, type Value } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import {
  cachedAttention,
  causalBias,
  continuedAttention,
  groupedAttention,
  type PastTokens,
} from '../../nn/attention';
import { packBias, pastWindowBias, visibleBias, windowBias } from '../../nn/attention-masks';
import { LayerBuilder } from '../../nn/layer-builder';
import type {
  CriticForward,
  CriticOptions,
  SamplerForward,
  SamplerOptions,
  TrainerForward,
  TrainerOptions,
  VisionForward,
  VisionOptions,
} from '../base';
import { buildDecoder, buildLogits, type Attention, type ImageRows, type TextInputs } from './decoder';
import { hasOwnMask, rotaryDimOf, type DecoderConfig } from './decoder-config';
import { mayBeCut, whole } from './distribution';
import { LINEAR_ATTENTION_STEP, type PackPlaces, wholeRecurrence } from './linear-attention';
import { featurePorts, kvLayers, kvPorts } from './ports';
import { passRecurrence, statePorts } from './recurrence';
import { declareFeatures, type VisionFeatures, type VisionLanguageModel } from './model';
import { buildValueHead } from './value-head';

/** Images → the decoder's image inputs, each [F, hidden]. */
export function buildVision(
  model: VisionLanguageModel,
  { parameters, attention, fused }: VisionOptions,
): VisionForward {
  const graph = new Graph(`${model.name} vision`);
  const { features, deepstack } = model.vision.build(
    new LayerBuilder(graph, parameters, { attention, fused }),
  );
  const all = [features, ...deepstack];
  featurePorts(model).forEach(({ name }, index) => graph.output(name, all[index]));
  return { graph, features: all, parameterInputs: parameters.inputs };
}

function declareImageRows(graph: Graph, features: VisionFeatures, length = 'T'): ImageRows {
  return {
    features,
    textMask: graph.input('text_mask', 'float32', ['B', length]),
    rows: graph.input('image_rows', 'int64', ['B', length]),
  };
}

function declareText(graph: Graph, text: DecoderConfig, length: number | string): TextInputs {
  const pairs = rotaryDimOf(text) / 2;
  const table = (name: string): Value => graph.input(name, 'float32', ['B', length, pairs]);
  return {
    tokenIds: graph.input('token_ids', 'int64', ['B', length]),
    cos: table('text_cos'),
    sin: table('text_sin'),
    ...(text.window && { windowCos: table('window_cos'), windowSin: table('window_sin') }),
  };
}

/** Symbolic number of tokens of a trainer row. */
function wholeLength({ linearAttention }: DecoderConfig): string {
  return linearAttention === undefined ? 'T' : `${LINEAR_ATTENTION_STEP}*chunks`;
}

/** Selects rows: [B·T, x] and int64 [M] → [M, x]. */
function pickRows(picked: Value): (x: Value) => Value {
  return (x) => ops.gather(x, picked, 0);
}

/** [B, T, kvHeads · headDim] → [B, kvHeads, T, headDim], the layout of the cache. */
function byHead(x: Value, { kvHeads, headDim }: DecoderConfig): Value {
  return ops.transpose(ops.reshape(x, [x.shape[0], x.shape[1], kvHeads, headDim]), [0, 2, 1, 3]);
}

/** Masks of the scores of each layer among the tokens of a pass. */
function ownBiases(graph: Graph, text: DecoderConfig, length: number | string): (layer: number) => Value {
  const groups = text.heads / text.kvHeads;
  if (!hasOwnMask(text)) {
    const causal = causalBias(graph, groups, length);
    return () => causal;
  }
  const { window, wholeImages } = text;
  const all =
    wholeImages === true
      ? visibleBias(graph.input('last_keys', 'int64', ['B', length]), groups, length)
      : causalBias(graph, groups, length);
  const near = window && ops.add(all, windowBias(graph, groups, window.size, length));
  return (layer) => (window?.layers.has(layer) === true ? near! : all);
}

function declarePacks(graph: Graph, length: number | string): PackPlaces {
  return {
    shared: graph.input('shared_tokens', 'int64', ['B', 1]),
    starts: graph.input('sequence_starts', 'int64', ['B', length]),
  };
}

/** Attention within packs. */
function packAttention({ shared, starts }: PackPlaces, text: DecoderConfig): Attention {
  const bias = packBias(shared, starts, text.heads / text.kvHeads, starts.shape[1]);
  return (_, { q, k, v }) => groupedAttention(q, k, v, bias, text);
}

/** Attention within prompts. */
function promptAttention(
  { graph, attention }: LayerBuilder,
  text: DecoderConfig,
  length: number | string = 'T',
): Attention {
  if (attention !== 'whole' && !hasOwnMask(text)) {
    return (_, { q, k, v }) => groupedAttention(q, k, v, attention, text);
  }
  const biasOf = ownBiases(graph, text, length);
  return (layer, { q, k, v }) => groupedAttention(q, k, v, biasOf(layer), text);
}

/** Declares the cache inputs of capacity C, for a pass over `length` tokens per row. */
function declarePast(
  graph: Graph,
  text: DecoderConfig,
  length: number | string,
): (layer: number) => PastTokens {
  const cacheShape = ['B', text.kvHeads, 'C', text.headDim];
  const all = graph.input('past_bias', 'float32', ['B', 1, 1, 'C']);
  const { window } = text;
  const near = window && ops.add(all, pastBiasOf(graph, text, window.size, length));
  return (layer) => {
    const { key, value } = kvPorts(layer);
    const bias = window?.layers.has(layer) === true ? near! : all;
    const keys = graph.input(key.past, 'float32', cacheShape);
    return { keys, values: graph.input(value.past, 'float32', cacheShape), bias };
  };
}

/** Mask of cached keys outside the window; one token's query heads share a row. */
function pastBiasOf(
  graph: Graph,
  { heads, kvHeads }: DecoderConfig,
  size: number,
  length: number | string,
): Value {
  const places = graph.input('places', 'int64', ['B', length]);
  return pastWindowBias(places, length === 1 ? 1 : heads / kvHeads, size);
}

/** Attention of one token per row over caches. */
function tokenAttention({ graph }: LayerBuilder, text: DecoderConfig): Attention {
  const past = declarePast(graph, text, 1);
  return (layer, { q, k, v }) => cachedAttention(q, k, v, past(layer), text);
}

/** Attention within prompts whose beginnings are cached. */
function continuedPromptAttention({ graph }: LayerBuilder, text: DecoderConfig): Attention {
  const past = declarePast(graph, text, 'T');
  const biasOf = ownBiases(graph, text, 'T');
  return (layer, { q, k, v }) => continuedAttention(q, k, v, biasOf(layer), past(layer), text);
}

const attentions = {
  prompt: promptAttention,
  continuation: continuedPromptAttention,
  token: tokenAttention,
};

/**
 * The decoder over key/value caches: prefills prompts, continues them, or appends one token per row. The additions to
 * the caches are outputs, which the caller stores. (GroupQueryAttention, which extends caches in place, returns them
 * as outputs, and the Node binding copies every output.)
 */
export function buildSampler(
  model: VisionLanguageModel,
  { parameters, images, pass, attention: kind, weightsFirst }: SamplerOptions,
): SamplerForward {
  const { name, text } = model;
  const graph = new Graph(`${name} ${pass}`);
  // A pass over few rows consists of hundreds of operations of some microseconds, so redundant reshapes are worth
  // removing.
  graph.looksThroughReshapes = true;
  const inputs = declareText(graph, text, pass === 'token' ? 1 : 'T');
  if (images) inputs.images = declareImageRows(graph, declareFeatures(graph, featurePorts(model)));
  const select = pickRows(graph.input('last_rows', 'int64', ['B']));
  const build = new LayerBuilder(graph, parameters, {
    attention: kind,
    fewRows: pass === 'token',
    weightsFirst,
  });
  const within = attentions[pass](build, text);
  const attention: Attention = (layer, projections) => {
    const { key, value } = kvPorts(layer);
    graph.output(key.added, byHead(projections.k, text));
    graph.output(value.added, byHead(projections.v, text));
    return within(layer, projections);
  };
  const recurrence = text.linearAttention && passRecurrence(graph, text.linearAttention, pass);
  const hidden = buildDecoder(build, text, inputs, { attention, recurrence, select });
  const logits = buildLogits(build, text, hidden, build.linearOfFewRows);
  graph.output('logits', logits);
  const inverse = graph.input('inverse_temperature', 'float32', ['B']);
  graph.output('probabilities', ops.softmax(ops.mul(logits, ops.unsqueeze(inverse, [1])), 1));
  const kv = kvLayers(text).map(kvPorts);
  return { graph, logits, kv, states: statePorts(text), parameterInputs: parameters.inputs };
}

function trainerImages(
  build: LayerBuilder,
  model: VisionLanguageModel,
  images: TrainerOptions['images'],
): ImageRows | undefined {
  const { graph } = build;
  const length = wholeLength(model.text);
  switch (images) {
    case 'none':
      return undefined;
    case 'features':
      return declareImageRows(graph, declareFeatures(graph, featurePorts(model)), length);
    case 'patches':
      return declareImageRows(graph, model.vision.build(build), length);
    default:
      throw new ModelError(
        'bad-input',
        `images: expected patches, features or none, found ${String(images)}`,
      );
  }
}

/** The decoder over B right-padded rows, up to the normalized hidden states [M, hidden] of M selected tokens. */
function buildWholeRows(
  model: VisionLanguageModel,
  graph: Graph,
  { parameters, images, dropout, attention: kind, packed = false }: Omit<TrainerOptions, 'kind'>,
): { build: LayerBuilder; hidden: Value } {
  const { text } = model;
  const build = new LayerBuilder(graph, parameters, { dropout, attention: kind });
  const imageRows = trainerImages(build, model, images);
  const length = wholeLength(text);
  const inputs: TextInputs = { ...declareText(graph, text, length), images: imageRows };
  const select = pickRows(graph.input('selected_rows', 'int64', ['M']));
  const packs = packed ? declarePacks(graph, length) : undefined;
  const attention = packs === undefined ? promptAttention(build, text, length) : packAttention(packs, text);
  const recurrence = text.linearAttention && wholeRecurrence(text.linearAttention, packs);
  return { build, hidden: buildDecoder(build, text, inputs, { attention, recurrence, select }) };
}

/** The whole forward pass over B right-padded rows; log-probabilities of M selected tokens. */
export function buildTrainer(model: VisionLanguageModel, options: TrainerOptions): TrainerForward {
  const graph = new Graph(`${model.name} trainer`);
  const { build, hidden } = buildWholeRows(model, graph, options);
  const targets = graph.input('targets', 'int64', ['M']);
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['M']);
  const logits = buildLogits(build, model.text, hidden);
  const scaled = graph.scope('log_probs', () => ops.mul(logits, ops.unsqueeze(inverseTemperature, [1])));
  const distribution = options.truncated === true ? mayBeCut(scaled, targets) : whole(scaled, targets);
  return { graph, hidden, ...distribution, parameterInputs: options.parameters.inputs };
}

/** The whole forward pass over B right-padded rows; values of the states in which M selected tokens were sampled. */
export function buildCritic(model: VisionLanguageModel, options: CriticOptions): CriticForward {
  const graph = new Graph(`${model.name} critic`);
  const { build, hidden } = buildWholeRows(model, graph, options);
  const values = buildValueHead(build, hidden, model.text.hiddenSize);
  return { graph, values, parameterInputs: options.parameters.inputs };
}
