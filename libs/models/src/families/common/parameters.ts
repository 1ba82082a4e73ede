import type { LinearSpec, ParameterSpec } from '../base';

/** Layers whose result is added to the residual stream start smaller, so that depth does not blow it up (GPT-2). */
function writesResidual(name: string): boolean {
  return /(o_proj|out_proj|down_proj|attn\.proj|(mlp|deepstack_merger_list\.\d+)\.(linear_)?fc2)$/.test(name);
}

/** Weights, and biases where there are some, of linear layers and stacks of them. */
export function linearParameters(
  linears: readonly LinearSpec[],
  hasBias: (linear: LinearSpec) => boolean,
): ParameterSpec[] {
  return linears.flatMap((layer): ParameterSpec[] => {
    const initial = writesResidual(layer.name) ? 'residual' : 'normal';
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
