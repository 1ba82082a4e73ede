import type {
  Family,
  ForwardOptions,
  ModelShape,
  SamplerForward,
  TrainerForward,
  VisionForward,
} from '../base';
import { parseQwen3VlConfig, type Qwen3VlConfig } from './config';
import { decodeFeeds, positionsOf, prefillFeeds, trainerFeeds, visionFeeds } from './feeds';
import { buildSampler, buildTrainer, buildVision } from './forward';
import { qwen3Linears, qwen3Parameters } from './names';
import { imageTokensOf, ropeDelta } from './positions';

function shapeOf(config: Qwen3VlConfig): ModelShape {
  const { vocabSize, hiddenSize, layers, kvHeads, headDim, maxPositions } = config.text;
  return {
    modelType: 'qwen3_vl',
    vocabSize,
    hiddenSize,
    layers,
    kvHeads,
    headDim,
    maxPositions,
    imageTokenId: config.imageTokenId,
    deepstack: config.vision.deepstackIndexes.length,
  };
}

function buildForward(
  config: Qwen3VlConfig,
  options: ForwardOptions,
): VisionForward | SamplerForward | TrainerForward {
  switch (options.kind) {
    case 'vision':
      return buildVision(config, options);
    case 'sampler':
      return buildSampler(config, options);
    case 'trainer':
      return buildTrainer(config, options);
  }
}

/** Qwen3-VL, dense: arXiv:2511.21631. */
export function qwen3Vl(json: unknown, file: string): Family {
  const config = parseQwen3VlConfig(json, file);
  return {
    name: 'qwen3-vl',
    shape: shapeOf(config),
    parameters: () => qwen3Parameters(config),
    linears: () => qwen3Linears(config),
    imageTokens: (grid) => imageTokensOf(grid, config.vision.mergeSize),
    positions: (tokenIds, grids) => positionsOf(config, tokenIds, grids),
    nextPosition: (tokenIds, grids) => tokenIds.length + ropeDelta(positionsOf(config, tokenIds, grids)),
    buildForward: ((options: ForwardOptions) => buildForward(config, options)) as Family['buildForward'],
    visionFeeds: (images) => visionFeeds(config, images),
    prefillFeeds: (rows, featureRows) => prefillFeeds(config, rows, featureRows),
    decodeFeeds: (rows, capacity) => decodeFeeds(config, rows, capacity),
    trainerFeeds: (rows, images, options) => trainerFeeds(config, rows, images, options),
  };
}
