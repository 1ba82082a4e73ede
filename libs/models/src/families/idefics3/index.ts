import type { Family } from '../base';
import { familyFrom } from '../common/family';
import { linearParameters } from '../common/parameters';
import { siglipLinears, siglipParameters } from '../common/siglip-config';
import { buildSiglipTower, declareSiglipInputs } from '../common/siglip-tower';
import { parseIdefics3Config } from './config';
import { connect, connectorLinear } from './connector';
import { Idefics3Feeds } from './feeds';
import { tiledPrompt } from './prompt';

function build(name: string, modelType: string, json: unknown, file: string): Family {
  const config = parseIdefics3Config(json, file);
  const { text, vision, scaleFactor, imageTokenId } = config;
  const inputs = new Idefics3Feeds(config);
  const tile = { P: `${scaleFactor ** 2}*Q`, positionIds: true };
  return familyFrom({
    name,
    modelType,
    text,
    imageTokenId,
    prompt: tiledPrompt(({ grid: [, rows, columns] }) => inputs.imageTokens({ grid: [1, rows, columns] })),
    vision: {
      patchSize: vision.patchSize,
      deepstack: 0,
      inputs,
      build: (layers) => {
        const patches = buildSiglipTower(layers, vision, declareSiglipInputs(layers.graph, vision, tile));
        return { features: connect(layers, config, patches), deepstack: [] };
      },
      linears: () => [...siglipLinears(vision), connectorLinear(config)],
      parameters: () => [
        ...siglipParameters(vision),
        ...linearParameters([connectorLinear(config)], () => false),
      ],
    },
  });
}

/** Idefics3: arXiv:2408.12637. The first SmolVLMs use this name, too. */
export function idefics3(json: unknown, file: string): Family {
  return build('idefics3', 'idefics3', json, file);
}

/** SmolVLM: arXiv:2504.05299. For still images the same as Idefics3. */
export function smolVlm(json: unknown, file: string): Family {
  return build('smolvlm', 'smolvlm', json, file);
}
