import { Graph, type Value } from '@ui-rl/graph';
import { WeightStore } from '../weights/store';
import { LayerBuilder, type BuilderOptions } from './layer-builder';
import { Parameters } from './parameters';

/** The operation that multiplies with the weight of a linear layer. */
function productWith(size: number, options: BuilderOptions): string {
  const weights = WeightStore.ofShapes([{ name: 'layer.weight', shape: [size, size] }]);
  const graph = new Graph('layer');
  const build = new LayerBuilder(graph, new Parameters({ weights }), options);
  build.linear(graph.input('x', 'float32', ['B', size]), 'layer', {
    inFeatures: size,
    outFeatures: size,
    bias: false,
  });
  const reads = ({ inputs }: { inputs: readonly (Value | null)[] }): boolean =>
    inputs.some((input) => input?.name === 'layer.weight');
  return graph.nodes.find(reads)!.opType;
}

test.each<[string, number, BuilderOptions, string]>([
  ['few rows and a large weight', 1_024, { fewRows: true, weightsFirst: true }, 'MatMul'],
  ['a small weight', 512, { fewRows: true, weightsFirst: true }, 'Gemm'],
  ['many rows', 1_024, { weightsFirst: true }, 'Gemm'],
  ['a device that multiplies rows first', 1_024, { fewRows: true }, 'Gemm'],
])('%s: %i numbers wide, %j', (_, size, options, operation) => {
  expect(productWith(size, options)).toBe(operation);
});
