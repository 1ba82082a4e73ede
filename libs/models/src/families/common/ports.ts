import type { FeaturePort, KvPorts } from '../base';
import { hasKeys, type DecoderConfig } from './decoder-config';
import type { VisionLanguageModel } from './model';

/** The ports between the vision tower and the decoder: image features, then deepstack features. */
export function featurePorts({ text, vision }: Pick<VisionLanguageModel, 'text' | 'vision'>): FeaturePort[] {
  const names = Array.from({ length: vision.deepstack }, (_, layer) => `deepstack_features.${layer}`);
  return ['image_features', ...names].map((name) => ({ name, width: text.hiddenSize }));
}

/** The decoder layers with keys and values. */
export function kvLayers(text: DecoderConfig): number[] {
  return Array.from({ length: text.layers }, (_, layer) => layer).filter((layer) => hasKeys(text, layer));
}

/** The caches of such a layer. */
export function kvPorts(layer: number): KvPorts {
  return {
    key: { past: `past_key.${layer}`, added: `new_key.${layer}` },
    value: { past: `past_value.${layer}`, added: `new_value.${layer}` },
  };
}
