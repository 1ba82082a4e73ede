import type { LinearSpec, ParameterSpec } from '../base';

/** Marks a layer whose result is added to the residual stream. */
export function residual(layer: LinearSpec): LinearSpec {
  return { ...layer, residual: true };
}

/** A linear layer of the vision tower, or between it and the decoder. */
export function visionLinear(
  name: string,
  inFeatures: number,
  outFeatures: number,
  group: LinearSpec['group'],
): LinearSpec {
  return { name, inFeatures, outFeatures, part: 'vision', group };
}

/** Weights and biases of linear layers and of stacks of them. */
export function linearParameters(
  linears: readonly LinearSpec[],
  hasBias: (linear: LinearSpec) => boolean,
): ParameterSpec[] {
  return linears.flatMap((layer): ParameterSpec[] => {
    const initial = layer.residual === true ? 'residual' : 'normal';
    if (layer.stack !== undefined) {
      const shape = [layer.stack.count, layer.outFeatures, layer.inFeatures];
      return [{ name: layer.name, shape, initial, storedTransposed: true }];
    }
    const weight: ParameterSpec = {
      name: `${layer.name}.weight`,
      shape: [layer.outFeatures, layer.inFeatures],
      initial,
    };
    const bias: ParameterSpec = { name: `${layer.name}.bias`, shape: [layer.outFeatures], initial: 'zeros' };
    return hasBias(layer) ? [weight, bias] : [weight];
  });
}

export function layerNormParameters(name: string, size: number): ParameterSpec[] {
  return [
    { name: `${name}.weight`, shape: [size], initial: 'ones' },
    { name: `${name}.bias`, shape: [size], initial: 'zeros' },
  ];
}
