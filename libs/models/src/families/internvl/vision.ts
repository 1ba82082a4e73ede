import { ops, type Graph, type Value } from '@ui-rl/graph';
import { attendAll } from '../../nn/attention';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { InternVlVision } from './config';
import { kernelShape, mergedSize, patchLength, projector, tower, towerLayer } from './names';

/** eps of the query and key norms, which config.json does not set. */
const queryNormEps = 1e-6;
const projectorNormEps = 1e-5;

/** Inputs of the tower: N pictures of P = mergeSize² · Q patches. */
interface PictureInputs {
  /** [N, P, patchLength], patches of a token adjacent */
  patches: Value;
  /** [P, side²] weight of each entry of the learned table, in patch order */
  positionWeights: Value;
}

function declareInputs(graph: Graph, vision: InternVlVision): PictureInputs {
  const P = `${vision.mergeSize ** 2}*Q`;
  return {
    patches: graph.input('patches', 'float32', ['N', P, patchLength(vision)]),
    positionWeights: graph.input('position_weights', 'float32', [P, vision.side ** 2]),
  };
}

/** Class token and patches with their position embeddings: [N, 1 + P, hidden]. */
function embed(
  build: LayerBuilder,
  vision: InternVlVision,
  { patches, positionWeights }: PictureInputs,
): Value {
  const { hiddenSize: hidden, side } = vision;
  const name = `${tower}.embeddings`;
  const [N, P, length] = patches.shape;
  const kernel = build.weight(`${name}.patch_embeddings.projection.weight`, kernelShape(vision));
  const bias = build.weight(`${name}.patch_embeddings.projection.bias`, [hidden]);
  const flat = ops.reshape(kernel, [hidden, length]);
  const embedded = ops.reshape(ops.linear(ops.flattenRows(patches), flat, bias), [N, P, hidden]);
  const table = build.weight(`${name}.position_embeddings`, [1, side ** 2 + 1, hidden]);
  const own = ops.reshape(ops.slice(table, 1, 1, side ** 2 + 1), [side ** 2, hidden]);
  const placed = ops.add(embedded, ops.matmul(positionWeights, own));
  const token = ops.add(build.weight(`${name}.cls_token`, [1, 1, hidden]), ops.slice(table, 1, 0, 1));
  return ops.concat([ops.expand(token, [N, 1, hidden]), placed], 1);
}

/**
 * Attention within a picture, x [N, S, hidden].
 *
 *  x ─┬─ q_proj ─ q_norm ─┬─ q·kᵀ ─ softmax ─┐
 *     ├─ k_proj ─ k_norm ─┘                  ├─ matmul ─ projection_layer
 *     └─ v_proj ─────────────────────────────┘
 */
function attention(
  build: LayerBuilder,
  { hiddenSize, heads, headDim, qkvBias, qkNorm }: InternVlVision,
  x: Value,
  name: string,
): Value {
  const size = { inFeatures: hiddenSize, outFeatures: hiddenSize };
  const project = (letter: 'q' | 'k' | 'v'): Value => {
    const projected = build.linear(x, `${name}.${letter}_proj`, { ...size, bias: qkvBias });
    const isNormed = qkNorm && letter !== 'v';
    return isNormed
      ? build.rmsNorm(projected, `${name}.${letter}_norm`, hiddenSize, queryNormEps)
      : projected;
  };
  const scale = headDim ** -0.5;
  const context = attendAll(build, [project('q'), project('k'), project('v')], { heads, scale });
  return build.linear(context, `${name}.projection_layer`, { ...size, bias: true });
}

function feedForward(
  build: LayerBuilder,
  { hiddenSize, intermediateSize }: InternVlVision,
  x: Value,
  name: string,
): Value {
  const wide = { inFeatures: hiddenSize, outFeatures: intermediateSize, bias: true };
  const narrow = { inFeatures: intermediateSize, outFeatures: hiddenSize, bias: true };
  return build.linear(ops.gelu(build.linear(x, `${name}.fc1`, wide)), `${name}.fc2`, narrow);
}

/** x [N, S, hidden] */
function buildLayer(build: LayerBuilder, vision: InternVlVision, x: Value, name: string): Value {
  const { hiddenSize, normType, normEps } = vision;
  const norm = (value: Value, norm: string): Value =>
    normType === 'rms_norm'
      ? build.rmsNorm(value, `${name}.${norm}`, hiddenSize, normEps)
      : build.layerNorm(value, `${name}.${norm}`, hiddenSize, normEps);
  const scaled = (value: Value, scale: string): Value =>
    ops.mul(value, build.weight(`${name}.${scale}`, [hiddenSize]));
  const attended = attention(build, vision, norm(x, 'layernorm_before'), `${name}.attention`);
  const second = ops.add(x, scaled(attended, 'lambda_1'));
  const wide = feedForward(build, vision, norm(second, 'layernorm_after'), `${name}.mlp`);
  return ops.add(second, scaled(wide, 'lambda_2'));
}

/** Joins the patches of each token and maps them to the width of the text model: [N, P, hidden] → [N·Q, text hidden]. */
function project(build: LayerBuilder, vision: InternVlVision, patches: Value): Value {
  const { textSize } = vision;
  const wide = mergedSize(vision);
  return build.graph.scope('multi_modal_projector', () => {
    const joined = ops.reshape(patches, ['N*Q', wide]);
    const normed = build.layerNorm(joined, `${projector}.layer_norm`, wide, projectorNormEps);
    const first = { inFeatures: wide, outFeatures: textSize, bias: true };
    const inner = ops.gelu(build.linear(normed, `${projector}.linear_1`, first));
    return build.linear(inner, `${projector}.linear_2`, { ...first, inFeatures: textSize });
  });
}

/** Tower and projector: features of all pictures, concatenated, [N·Q, text hidden]. */
export function buildFeatures(build: LayerBuilder, vision: InternVlVision): Value {
  const { graph } = build;
  const { hiddenSize, finalNorm, normEps } = vision;
  const inputs = declareInputs(graph, vision);
  const patches = graph.scope('vision_tower', () => {
    let x = graph.cut(graph.scope('embeddings', () => embed(build, vision, inputs)));
    for (let layer = 0; layer < vision.layers; layer++) {
      x = graph.cut(graph.scope(`layer.${layer}`, () => buildLayer(build, vision, x, towerLayer(layer))));
    }
    const last = finalNorm ? build.layerNorm(x, `${tower}.layernorm`, hiddenSize, normEps) : x;
    return ops.slice(last, 1, 1);
  });
  return graph.cut(project(build, vision, patches));
}
