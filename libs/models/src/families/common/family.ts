import type {
  CriticForward,
  Family,
  ForwardOptions,
  ModelShape,
  SamplerForward,
  TrainerForward,
  VisionForward,
} from '../base';
import { decoderLinears, decoderParameters, hasOwnMask, sequenceStep } from './decoder-config';
import { decodeFeeds, featureRowsOf, firstRowsOf, prefillFeeds, trainerFeeds } from './feeds';
import { buildCritic, buildSampler, buildTrainer, buildVision } from './forward';
import type { ImagePrompt, VisionLanguageModel } from './model';
import { featurePorts, kvLayers } from './ports';
import { statePorts } from './recurrence';
import { ropeDelta } from './positions';
import { positionsOf } from './token-positions';

function shapeOf({ modelType, text, vision, imageTokenId }: VisionLanguageModel): ModelShape {
  const { vocabSize, hiddenSize, layers, kvHeads, headDim, maxPositions } = text;
  const { patchSize } = vision;
  return {
    modelType,
    vocabSize,
    hiddenSize,
    layers,
    kvLayers: kvLayers(text).length,
    kvHeads,
    headDim,
    stateSize: statePorts(text).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0),
    maxPositions,
    imageTokenId,
    patchSize,
  };
}

function buildForward(
  model: VisionLanguageModel,
  options: ForwardOptions,
): VisionForward | SamplerForward | TrainerForward | CriticForward {
  switch (options.kind) {
    case 'vision':
      return buildVision(model, options);
    case 'sampler':
      return buildSampler(model, options);
    case 'trainer':
      return buildTrainer(model, options);
    case 'critic':
      return buildCritic(model, options);
  }
}

/** The default: each image is a run of image tokens in the prompt. */
function plainImages({ vision }: VisionLanguageModel): ImagePrompt {
  return {
    imageText: (image, imageToken) => ({ text: imageToken, runs: [vision.inputs.imageTokens(image)] }),
    imageMarks: [],
  };
}

/** Builds a family's `Family` interface from its description. */
export function familyFrom(model: VisionLanguageModel): Family {
  const { name, text, vision } = model;
  return {
    name,
    shape: shapeOf(model),
    features: featurePorts(model),
    neverSampled: [model.imageTokenId],
    checkpointName: model.checkpointName ?? ((weight) => weight),
    parameters: () => [...vision.parameters(), ...decoderParameters(text)],
    linears: () => [...vision.linears(), ...decoderLinears(text)],
    imageTokens: (image) => vision.inputs.imageTokens(image),
    ...(model.prompt ?? plainImages(model)),
    wholeImages: text.wholeImages === true,
    packStep: hasOwnMask(text) ? undefined : sequenceStep(text),
    positions: (tokenIds, images) => positionsOf(model, tokenIds, images),
    nextPosition: (tokenIds, images) => tokenIds.length + ropeDelta(positionsOf(model, tokenIds, images)),
    buildForward: ((options: ForwardOptions) => buildForward(model, options)) as Family['buildForward'],
    visionFeeds: (images) => ({
      feeds: vision.inputs.feeds(images),
      firstRows: firstRowsOf(featureRowsOf(vision.inputs, images)),
    }),
    prefillFeeds: (rows, featureRows, capacity) => prefillFeeds(model, rows, featureRows, capacity),
    decodeFeeds: (rows, capacity) => decodeFeeds(model, rows, capacity),
    trainerFeeds: (rows, images, options) => trainerFeeds(model, rows, images, options),
  };
}
