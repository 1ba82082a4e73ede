import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { siglipLinears, siglipParameters } from '../common/siglip-config';
import { buildSiglipTower, declarePatchBias, declareSiglipInputs } from '../common/siglip-tower';
import { parseIdefics2Config } from './config';
import { connect } from './connector';
import { Idefics2Feeds } from './feeds';
import { connectorLinears, connectorParameters } from './names';
import { resampledPrompt } from './prompt';

/** Idefics2: arXiv:2405.02246. */
export function idefics2(json: unknown, file: string): Family {
  const config = parseIdefics2Config(json, file);
  const { text, vision, perceiver, imageTokenId } = config;
  return familyFrom({
    name: 'idefics2',
    modelType: 'idefics2',
    text,
    imageTokenId,
    prompt: resampledPrompt(perceiver.latents),
    vision: {
      patchSize: vision.patchSize,
      deepstack: 0,
      inputs: new Idefics2Feeds(config),
      build: (layers) => {
        const patchBias = declarePatchBias(layers.graph, 'P');
        const declared = declareSiglipInputs(layers.graph, vision, { P: 'P', positionIds: true });
        const patches = buildSiglipTower(layers, vision, { ...declared, patchBias });
        return {
          features: connect(layers, config, { patches, patchBias }),
          deepstack: [],
        };
      },
      linears: () => [...siglipLinears(vision), ...connectorLinears(config)],
      parameters: () => [...siglipParameters(vision), ...connectorParameters(config)],
    },
  });
}
