import { Graph, ops, type Value } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import { cachedAttention, causalBias, groupedAttention } from '../../nn/attention';
import { LayerBuilder } from '../../nn/parameters';
import type {
  SamplerForward,
  SamplerOptions,
  TrainerForward,
  TrainerOptions,
  VisionForward,
  VisionOptions,
} from '../base';
import type { Qwen3VlConfig } from './config';
import { buildDecoder, type Attention, type ImageRows, type TextInputs } from './text';
import { buildVisionTower, declareVisionInputs, type VisionFeatures } from './vision';

/** Patches of N images → outputs `image_features` and `deepstack_features.<i>`, each [N·Q, hidden]. */
export function buildVision(config: Qwen3VlConfig, { parameters }: VisionOptions): VisionForward {
  const graph = new Graph('qwen3-vl vision');
  const inputs = declareVisionInputs(graph, config.vision);
  const { features, deepstack } = buildVisionTower(
    new LayerBuilder(graph, parameters),
    config.vision,
    inputs,
  );
  graph.output('image_features', features);
  deepstack.forEach((value, i) => graph.output(`deepstack_features.${i}`, value));
  return { graph, features, deepstack, parameterInputs: parameters.inputs };
}

function declareFeatures(graph: Graph, { text, vision }: Qwen3VlConfig): VisionFeatures {
  return {
    features: graph.input('image_features', 'float32', ['F', text.hiddenSize]),
    deepstack: vision.deepstackIndexes.map((_, i) =>
      graph.input(`deepstack_features.${i}`, 'float32', ['F', text.hiddenSize]),
    ),
  };
}

function declareImageRows(graph: Graph, features: VisionFeatures): ImageRows {
  return {
    features,
    textMask: graph.input('text_mask', 'float32', ['B', 'T']),
    rows: graph.input('image_rows', 'int64', ['B', 'T']),
  };
}

function declareText(graph: Graph, { text }: Qwen3VlConfig, length: number | string = 'T'): TextInputs {
  return {
    tokenIds: graph.input('token_ids', 'int64', ['B', length]),
    cos: graph.input('text_cos', 'float32', ['B', length, text.headDim / 2]),
    sin: graph.input('text_sin', 'float32', ['B', length, text.headDim / 2]),
  };
}

/** Keeps some rows: [B·T, x] and int64 [M] → [M, x]. */
function pickRows(picked: Value): (x: Value) => Value {
  return (x) => ops.gather(x, picked, 0);
}

/** [B, T, kvHeads · headDim] → [B, kvHeads, T, headDim], the layout of the cache. */
function byHead(x: Value, { kvHeads, headDim }: Qwen3VlConfig['text']): Value {
  return ops.transpose(ops.reshape(x, [x.shape[0], x.shape[1], kvHeads, headDim]), [0, 2, 1, 3]);
}

/** Attention within prompts. */
function promptAttention(graph: Graph, { text }: Qwen3VlConfig): Attention {
  const bias = causalBias(graph, text.heads / text.kvHeads);
  return (_, { q, k, v }) => groupedAttention(q, k, v, bias, text);
}

/** Attention of one token per row over caches with room for C tokens. */
function tokenAttention(graph: Graph, { text }: Qwen3VlConfig): Attention {
  const cacheShape = ['B', text.kvHeads, 'C', text.headDim];
  const bias = graph.input('past_bias', 'float32', ['B', 1, 1, 'C']);
  return (layer, { q, k, v }) => {
    const keys = graph.input(`past_key.${layer}`, 'float32', cacheShape);
    const values = graph.input(`past_value.${layer}`, 'float32', cacheShape);
    return cachedAttention(q, k, v, { keys, values, bias }, text);
  };
}

/**
 * The decoder over key/value caches: whole prompts, or one token per row over caches that are fed as `past_key.<layer>` and
 * `past_value.<layer>`. What a pass adds to the caches are outputs `new_key.<layer>` and `new_value.<layer>`,
 * [B, kvHeads, T, headDim]; the caller puts them there. (GroupQueryAttention, which extends caches in place, gives them
 * back as outputs, and the Node binding copies every output.)
 */
export function buildSampler(
  config: Qwen3VlConfig,
  { parameters, images, pass }: SamplerOptions,
): SamplerForward {
  const graph = new Graph(`qwen3-vl ${pass}`);
  const inputs = declareText(graph, config, pass === 'token' ? 1 : 'T');
  if (images) inputs.images = declareImageRows(graph, declareFeatures(graph, config));
  const select = pickRows(graph.input('last_rows', 'int64', ['B']));
  const within = (pass === 'token' ? tokenAttention : promptAttention)(graph, config);
  const attention: Attention = (layer, projections) => {
    graph.output(`new_key.${layer}`, byHead(projections.k, config.text));
    graph.output(`new_value.${layer}`, byHead(projections.v, config.text));
    return within(layer, projections);
  };
  const logits = buildDecoder(new LayerBuilder(graph, parameters), config, inputs, { attention, select });
  graph.output('logits', logits);
  const inverse = graph.input('inverse_temperature', 'float32', ['B']);
  graph.output('probabilities', ops.softmax(ops.mul(logits, ops.unsqueeze(inverse, [1])), 1));
  return { graph, logits, parameterInputs: parameters.inputs };
}

function trainerImages(
  build: LayerBuilder,
  config: Qwen3VlConfig,
  images: TrainerOptions['images'],
): ImageRows | undefined {
  const { graph } = build;
  switch (images) {
    case 'none':
      return undefined;
    case 'features':
      return declareImageRows(graph, declareFeatures(graph, config));
    case 'patches': {
      const inputs = declareVisionInputs(graph, config.vision);
      return declareImageRows(graph, buildVisionTower(build, config.vision, inputs));
    }
    default:
      throw new ModelError(
        'bad-input',
        `images: expected patches, features or none, found ${String(images)}`,
      );
  }
}

/** Entropy [M] of log-probabilities [M, V]. */
function entropyOf(logProbs: Value): Value {
  return ops.neg(ops.reduceSum(ops.mul(ops.exp(logProbs), logProbs), [1]));
}

/** The whole forward pass over B right-padded rows; log-probabilities of M chosen tokens. */
export function buildTrainer(config: Qwen3VlConfig, { parameters, images }: TrainerOptions): TrainerForward {
  const graph = new Graph('qwen3-vl trainer');
  const build = new LayerBuilder(graph, parameters);
  const imageRows = trainerImages(build, config, images);
  const inputs: TextInputs = { ...declareText(graph, config), images: imageRows };
  const select = pickRows(graph.input('selected_rows', 'int64', ['M']));
  const targets = graph.input('targets', 'int64', ['M']);
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['M']);
  const attention = promptAttention(graph, config);
  const logits = buildDecoder(build, config, inputs, { attention, select });
  const all = graph.scope('log_probs', () =>
    ops.logSoftmax(ops.mul(logits, ops.unsqueeze(inverseTemperature, [1])), 1),
  );
  const picked = graph.scope('log_probs', () => ops.takeAlongAxis(all, ops.unsqueeze(targets, [1]), 1));
  return {
    graph,
    logProbs: graph.scope('log_probs', () => ops.squeeze(picked, [1])),
    entropy: () => graph.scope('entropy', () => entropyOf(all)),
    parameterInputs: parameters.inputs,
  };
}
