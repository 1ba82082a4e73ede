import { Graph, ops, type Value } from '@ui-rl/graph';
import { ModelError } from '../../errors';
import { causalBias, groupedAttention } from '../../nn/attention';
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

function declareText(graph: Graph, { text }: Qwen3VlConfig): TextInputs {
  return {
    tokenIds: graph.input('token_ids', 'int64', ['B', 'T']),
    cos: graph.input('text_cos', 'float32', ['B', 'T', text.headDim / 2]),
    sin: graph.input('text_sin', 'float32', ['B', 'T', text.headDim / 2]),
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

/** Attention over a cache of C tokens per row that GroupQueryAttention extends. */
function cachedAttention(graph: Graph, { text }: Qwen3VlConfig): Attention {
  const lengthsMinusOne = graph.input('seqlens_k', 'int32', ['B']);
  const totalLength = graph.input('total_sequence_length', 'int32', []);
  const cacheShape = ['B', text.kvHeads, 'C', text.headDim];
  return (layer, { q, k, v }) => {
    const { output, presentKey, presentValue } = ops.groupQueryAttention(
      {
        query: q,
        key: k,
        value: v,
        pastKey: graph.input(`past_key.${layer}`, 'float32', cacheShape),
        pastValue: graph.input(`past_value.${layer}`, 'float32', cacheShape),
        lengthsMinusOne,
        totalLength,
      },
      { heads: text.heads, keyValueHeads: text.kvHeads },
    );
    graph.output(`present_key.${layer}`, presentKey);
    graph.output(`present_value.${layer}`, presentValue);
    graph.output(`new_key.${layer}`, byHead(k, text));
    graph.output(`new_value.${layer}`, byHead(v, text));
    return output;
  };
}

/**
 * The decoder over key/value caches: prefill (T = longest prompt) and decoding (T = 1) by shape. Each cache is fed as
 * `past_key.<layer>` and `past_value.<layer>`. `new_key.<layer>` and `new_value.<layer>` are what the tokens of this pass add,
 * [B, kvHeads, T, headDim]; `present_*` are whole caches, which the Node binding copies wherever they are asked for.
 */
export function buildSampler(config: Qwen3VlConfig, { parameters, images }: SamplerOptions): SamplerForward {
  const graph = new Graph(images ? 'qwen3-vl prefill' : 'qwen3-vl decode');
  const inputs = declareText(graph, config);
  if (images) inputs.images = declareImageRows(graph, declareFeatures(graph, config));
  const select = pickRows(graph.input('last_rows', 'int64', ['B']));
  const attention = cachedAttention(graph, config);
  const logits = buildDecoder(new LayerBuilder(graph, parameters), config, inputs, { attention, select });
  graph.output('logits', logits);
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
  const { text } = config;
  const graph = new Graph('qwen3-vl trainer');
  const build = new LayerBuilder(graph, parameters);
  const imageRows = trainerImages(build, config, images);
  const inputs: TextInputs = { ...declareText(graph, config), images: imageRows };
  const select = pickRows(graph.input('selected_rows', 'int64', ['M']));
  const targets = graph.input('targets', 'int64', ['M']);
  const inverseTemperature = graph.input('inverse_temperature', 'float32', ['M']);
  const bias = causalBias(graph, text.heads / text.kvHeads);
  const attention: Attention = (_, { q, k, v }) => groupedAttention(q, k, v, bias, text);
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
