import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { LinearSpec } from '../base';
import { visionLinear } from '../common/parameters';
import type { Idefics3Config } from './config';

/** The only layer between the tower and the decoder; it has no bias. */
export function connectorLinear({ text, vision, scaleFactor }: Idefics3Config): LinearSpec {
  const inFeatures = vision.hiddenSize * scaleFactor ** 2;
  return visionLinear('model.connector.modality_projection.proj', inFeatures, text.hiddenSize, 'merger');
}

/**
 * Concatenates scaleFactor² neighbouring patches (pixel shuffle) and projects them to the decoder's width: [N·P,
 * hidden] → [N·Q, text hidden]. Patches are in `blockOrder`, in which neighbours are adjacent.
 */
export function connect(build: LayerBuilder, config: Idefics3Config, patches: Value): Value {
  const { name, inFeatures, outFeatures } = connectorLinear(config);
  return build.graph.scope('connector', () =>
    build.linear(ops.reshape(patches, [-1, inFeatures]), name, { inFeatures, outFeatures, bias: false }),
  );
}
