import { ops, type Value } from '@ui-rl/graph';
import type { LayerBuilder } from '../../nn/layer-builder';
import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { llavaCheckpointName } from '../common/llava-names';
import { declarePictures, llavaLinears, llavaParameters, projectPictures } from '../common/llava-vision';
import { parseLlavaOneVisionConfig, type LlavaOneVisionConfig } from './config';
import { LlavaOneVisionFeeds } from './feeds';

const newlineName = 'model.image_newline';

/** Features of all images as packed by the feeds, [F, text hidden]; see `LlavaOneVisionFeeds`. */
function buildFeatures(build: LayerBuilder, { text, vision }: LlavaOneVisionConfig): Value {
  const { graph } = build;
  const pictures = projectPictures(build, vision, declarePictures(graph, vision));
  const rows = graph.input('pack_rows', 'int64', ['F', 'taps']);
  const weights = graph.input('pack_weights', 'float32', ['F', 'taps']);
  return graph.scope('pack', () => {
    const newline = ops.reshape(build.weight(newlineName, [text.hiddenSize]), [1, text.hiddenSize]);
    const taps = ops.gather(ops.concat([pictures, newline], 0), rows, 0);
    return ops.reduceSum(ops.mul(taps, ops.unsqueeze(weights, [2])), [1]);
  });
}

/** LLaVA-OneVision: arXiv:2408.03326. */
export function llavaOneVision(json: unknown, file: string): Family {
  const config = parseLlavaOneVisionConfig(json, file);
  const { text, vision, imageTokenId } = config;
  return familyFrom({
    name: 'llava-onevision',
    modelType: 'llava_onevision',
    text,
    imageTokenId,
    checkpointName: llavaCheckpointName,
    vision: {
      patchSize: vision.tower.patchSize,
      deepstack: 0,
      inputs: new LlavaOneVisionFeeds(config),
      build: (layers) => ({ features: buildFeatures(layers, config), deepstack: [] }),
      linears: () => llavaLinears(vision),
      parameters: () => [
        ...llavaParameters(vision),
        { name: newlineName, shape: [text.hiddenSize], initial: 'zeros' },
      ],
    },
  });
}
