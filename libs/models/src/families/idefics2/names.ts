import type { LinearSpec, ParameterSpec } from '../base';
import { linearParameters, residual, visionLinear } from '../common/parameters';
import type { Idefics2Config } from './config';

export const projection = 'model.connector.modality_projection';
export const resampler = 'model.connector.perceiver_resampler';

export function resamplerLayer(layer: number): string {
  return `${resampler}.layers.${layer}`;
}

/** Width of the resampler's feed-forward networks. */
export function resamplerWidth({ perceiver }: Idefics2Config): number {
  return 4 * perceiver.hiddenSize;
}

function resamplerLayers({ perceiver }: Idefics2Config): string[] {
  return Array.from({ length: perceiver.depth }, (_, layer) => resamplerLayer(layer));
}

function linear(name: string, inFeatures: number, outFeatures: number): LinearSpec {
  return visionLinear(name, inFeatures, outFeatures, 'merger');
}

function gatedLinears(name: string, inFeatures: number, width: number, outFeatures: number): LinearSpec[] {
  return [
    linear(`${name}.gate_proj`, inFeatures, width),
    linear(`${name}.up_proj`, inFeatures, width),
    residual(linear(`${name}.down_proj`, width, outFeatures)),
  ];
}

/** All linear layers between the tower and the decoder. */
export function connectorLinears(config: Idefics2Config): LinearSpec[] {
  const { text, vision, perceiver } = config;
  const { hiddenSize: hidden, heads, kvHeads, headDim } = perceiver;
  return [
    ...gatedLinears(projection, vision.hiddenSize, text.intermediateSize, hidden),
    ...resamplerLayers(config).flatMap((layer) => [
      linear(`${layer}.self_attn.q_proj`, hidden, heads * headDim),
      linear(`${layer}.self_attn.k_proj`, hidden, kvHeads * headDim),
      linear(`${layer}.self_attn.v_proj`, hidden, kvHeads * headDim),
      residual(linear(`${layer}.self_attn.o_proj`, heads * headDim, hidden)),
      ...gatedLinears(`${layer}.mlp`, hidden, resamplerWidth(config), hidden),
    ]),
  ];
}

/** All weights between the tower and the decoder. */
export function connectorParameters(config: Idefics2Config): ParameterSpec[] {
  const { latents, hiddenSize } = config.perceiver;
  const scale = (name: string): ParameterSpec => ({
    name: `${name}.weight`,
    shape: [hiddenSize],
    initial: 'ones',
  });
  return [
    { name: `${resampler}.latents`, shape: [latents, hiddenSize], initial: 'normal' },
    ...linearParameters(connectorLinears(config), () => false),
    ...resamplerLayers(config).flatMap((layer) => [
      scale(`${layer}.input_latents_norm`),
      scale(`${layer}.input_context_norm`),
      scale(`${layer}.post_attention_layernorm`),
    ]),
    scale(`${resampler}.norm`),
  ];
}
