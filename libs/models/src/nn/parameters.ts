import { ops, type Graph, type Value } from '@ui-rl/graph';
import { loraName, type LoraModule, type LoraPlan } from '../lora/plan';
import { matrixName, type QuantizedWeights } from '../weights/quantized-weights';
import type { WeightStore } from '../weights/store';
import type { LoraValues, MatrixStack, PackedStack, ParameterSource } from './parameter-source';
import { dequantized, dequantizedStack, packedProduct, packedStack } from './quantized';
import { splitRows } from './stack';

export interface ParametersOptions {
  weights: WeightStore;
  /** which weights are graph inputs (trained or swapped) instead of constants; default none */
  inputs?: 'all' | 'none' | ((name: string) => boolean);
  lora?: LoraPlan;
  /** quantized linear layers */
  quantized?: QuantizedWeights | undefined;
  /**
   * Whether 4-bit layers are multiplied directly, from a packed private copy: many times faster for few rows, but not
   * differentiable. Default false: they are converted to float32 on demand.
   */
  packed?: boolean;
}

/**
 * Provides weights as constants from a {@link WeightStore} or as graph inputs with their checkpoint names; adapters
 * as inputs.
 */
export class Parameters implements ParameterSource {
  readonly inputs = new Map<string, Value>();
  private readonly constants = new Map<string, Value>();
  private readonly asFloat32 = new Map<string, Value>();
  private readonly loraModules: ReadonlyMap<string, LoraModule>;

  constructor(private readonly options: ParametersOptions) {
    this.loraModules = new Map(options.lora?.modules.map((module) => [module.name, module]));
  }

  private isInput(name: string): boolean {
    const { inputs = 'none' } = this.options;
    return typeof inputs === 'function' ? inputs(name) : inputs === 'all';
  }

  private input(graph: Graph, name: string, shape: readonly number[]): Value {
    const known = this.inputs.get(name);
    if (known !== undefined) return known;
    const value = graph.input(name, 'float32', shape);
    this.inputs.set(name, value);
    return value;
  }

  get(graph: Graph, name: string, shape: readonly number[]): Value {
    const quantized = this.isInput(name) ? undefined : this.options.quantized?.get(name);
    if (quantized !== undefined) {
      return remembered(this.asFloat32, name, () => dequantized(graph, name, quantized));
    }
    const stored = this.stored(graph, name, shape);
    if (stored.dtype === 'float32') return stored;
    return remembered(this.asFloat32, name, () => ops.cast(stored, 'float32'));
  }

  product(
    graph: Graph,
    x: Value,
    name: string,
    shape: readonly [number, number],
    linear: (x: Value, weight: Value) => Value = ops.linear,
  ): Value {
    const { packed, quantized } = this.options;
    const weight = packed === true && !this.isInput(name) ? quantized?.get(name) : undefined;
    return weight?.kind === 'int4'
      ? packedProduct(graph, x, name, weight)
      : linear(x, this.get(graph, name, shape));
  }

  stored(graph: Graph, name: string, shape: readonly number[]): Value {
    if (this.isInput(name)) return this.input(graph, name, shape);
    let value = this.constants.get(name);
    if (value === undefined) {
      const data = this.options.weights.constant(name, shape);
      value = graph.parameter(name, { shape: [...shape], ...data });
      this.constants.set(name, value);
    }
    return value;
  }

  stack(graph: Graph, name: string, shape: readonly [number, number, number]): MatrixStack | PackedStack {
    const [count, out, width] = shape;
    if (this.isInput(name)) {
      const rows = ops.reshape(this.input(graph, name, shape), [count * out, width]);
      const matrices = splitRows(rows, count);
      return { transposed: false, isConverted: false, matrix: (_, index) => matrices[index] };
    }
    const { quantized, packed, weights } = this.options;
    const inBits = Array.from({ length: count }, (_, i) => quantized?.get(matrixName(name, i)));
    if (inBits.every((weight) => weight !== undefined)) {
      const isPacked = packed === true && quantized?.kind === 'int4';
      return isPacked ? packedStack(graph, name, inBits) : dequantizedStack(graph, name, inBits);
    }
    const { slices, transposed } = weights.stack(name, shape);
    const each = transposed ? [width, out] : [out, width];
    const matrices = slices.map((data, i) => graph.parameter(matrixName(name, i), { shape: each, ...data }));
    return {
      transposed,
      isConverted: matrices.some(({ dtype }) => dtype !== 'float32'),
      matrix: (where, index) => castIn(where, matrices[index]),
    };
  }

  lora(graph: Graph, module: string, inFeatures: number, outFeatures: number): LoraValues | undefined {
    const adapted = this.loraModules.get(module);
    if (adapted === undefined) return undefined;
    const { key, scale } = adapted;
    const columns = adapted.rank * (adapted.stack?.count ?? 1);
    return {
      a: this.input(graph, loraName(key, 'A'), [columns, inFeatures]),
      b: this.input(graph, loraName(key, 'B'), [outFeatures, columns]),
      scale,
      dropout: this.options.lora?.config.dropout ?? 0,
    };
  }
}

const FLOAT = 1;

/** A matrix as float32, converted in `graph`. */
function castIn(graph: Graph, matrix: Value): Value {
  if (matrix.dtype === 'float32') return matrix;
  return graph.node('Cast', [matrix], { to: FLOAT }, [{ dtype: 'float32', shape: matrix.shape }])[0];
}

function remembered(known: Map<string, Value>, name: string, build: () => Value): Value {
  const value = known.get(name) ?? build();
  known.set(name, value);
  return value;
}
