import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { ParameterSpec } from '../base';
import type { Gemma3Config } from './config';

const projector = 'model.multi_modal_projector';

/** The weights of the projector. Its matrix is stored as [in, out] and is not a linear layer for adapters. */
export function projectorParameters({ text, vision }: Gemma3Config): ParameterSpec[] {
  return [
    {
      name: `${projector}.mm_input_projection_weight`,
      shape: [vision.hiddenSize, text.hiddenSize],
      initial: 'normal',
    },
    { name: `${projector}.mm_soft_emb_norm.weight`, shape: [vision.hiddenSize], initial: 'zeros' },
  ];
}

/** Averages squares of patches, normalizes and projects them: [N·P, hidden] → [N·Q, text hidden]. */
export function project(build: LayerBuilder, config: Gemma3Config, patches: Value): Value {
  const { text, vision, poolSize } = config;
  const { hiddenSize, side, normEps } = vision;
  const edge = side / poolSize;
  return build.graph.scope('multi_modal_projector', () => {
    const squares = ops.reshape(patches, ['N', edge, poolSize, edge, poolSize, hiddenSize]);
    const pooled = ops.reshape(ops.reduceMean(squares, [2, 4]), [`${edge ** 2}*N`, hiddenSize]);
    const scale = ops.add(build.weight(`${projector}.mm_soft_emb_norm.weight`, [hiddenSize]), 1);
    const weight = build.weight(`${projector}.mm_input_projection_weight`, [hiddenSize, text.hiddenSize]);
    return ops.matmul(ops.rmsNorm(pooled, scale, normEps), weight);
  });
}
