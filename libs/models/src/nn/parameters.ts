import { ops, type Graph, type Value } from '@ui-rl/graph';
import { loraName, type LoraModule, type LoraPlan } from '../lora/plan';
import type { AttentionKind } from '../families/base';
import type { WeightStore } from '../weights/store';
import { dropOut } from './dropout';
import { matrixName, type QuantizedWeights } from '../weights/quantized-weights';
import { dequantized, dequantizedStack, packedProduct, packedStack } from './quantized';
import { splitRows } from './stack';

/** The two matrices of a LoRA layer as graph values, and what to multiply their product with. */
export interface LoraValues {
  a: Value;
  b: Value;
  scale: number;
  /** share of the layer's input that is dropped in training */
  dropout: number;
}

/** Matrices of equal shape, [out, in] each, or all of them [in, out]. */
export interface MatrixStack {
  readonly transposed: boolean;
  /** whether they are stored in a type that nothing is computed in */
  readonly isConverted: boolean;
  /** a matrix as float32, converted in `graph`: in the body of a loop, where that is one, and only when it runs */
  readonly matrix: (graph: Graph, index: number) => Value;
}

/** Matrices that are multiplied as they are stored: x [R, in] → [R, out], in the graph of x. */
export interface PackedStack {
  readonly product: (x: Value, index: number) => Value;
}

/**
 * Where a graph builder gets every parameter from. One source serves one graph: values are shared within it, so that tied
 * weights are one value.
 */
export interface ParameterSource {
  /** the weight `name`, whose checkpoint shape is `shape`, as float32 */
  get(graph: Graph, name: string, shape: readonly number[]): Value;
  /** the same in the type it is stored in */
  stored(graph: Graph, name: string, shape: readonly number[]): Value;
  /** x · Wᵀ for the weight [out, in] of a linear layer: [..., in] → [..., out] */
  product(graph: Graph, x: Value, name: string, shape: readonly [number, number]): Value;
  /** the matrices of a stack of linear layers without bias, one weight [layers, out, in] */
  stack(graph: Graph, name: string, shape: readonly [number, number, number]): MatrixStack | PackedStack;
  /** the adapter of a linear layer, or of a stack of them, if it has one */
  lora(graph: Graph, module: string, inFeatures: number, outFeatures: number): LoraValues | undefined;
  /** what became a graph input, by name, in order of first use */
  readonly inputs: ReadonlyMap<string, Value>;
}

export interface ParametersOptions {
  weights: WeightStore;
  /** which weights are graph inputs (trained or swapped) instead of constants; default none */
  inputs?: 'all' | 'none' | ((name: string) => boolean);
  lora?: LoraPlan;
  /** linear layers that are held in few bits */
  quantized?: QuantizedWeights | undefined;
  /**
   * Whether 4-bit layers are multiplied as they are, from a packed private copy: many times faster for few rows, without a
   * derivative. Default false: they are converted to float32 when they are needed.
   */
  packed?: boolean;
}

/** Weights as constants from a {@link WeightStore} or as graph inputs named like the checkpoint; adapters as inputs. */
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

  product(graph: Graph, x: Value, name: string, shape: readonly [number, number]): Value {
    const { packed, quantized } = this.options;
    const weight = packed === true && !this.isInput(name) ? quantized?.get(name) : undefined;
    return weight?.kind === 'int4'
      ? packedProduct(graph, x, name, weight)
      : ops.linear(x, this.get(graph, name, shape));
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

/** A linear layer of the checkpoint, with its adapter: y = xWᵀ + b + scale · (xAᵀ)Bᵀ; x [..., in] → [..., out]. */
export interface LinearShape {
  inFeatures: number;
  outFeatures: number;
  bias: boolean;
}

export interface BuilderOptions {
  /** whether the adapter's dropout takes place, default false */
  dropout?: boolean | undefined;
  /** default `whole` */
  attention?: AttentionKind | undefined;
  /** whether there are few rows and no derivatives: layers of a stack that have no rows are then left alone. Default false */
  fewRows?: boolean | undefined;
}

/** Builds the layers that all families share over one graph and one source of parameters. */
export class LayerBuilder {
  constructor(
    readonly graph: Graph,
    readonly parameters: ParameterSource,
    private readonly options: BuilderOptions = {},
  ) {}

  private get dropout(): boolean {
    return this.options.dropout ?? false;
  }

  get attention(): AttentionKind {
    return this.options.attention ?? 'whole';
  }

  get fewRows(): boolean {
    return this.options.fewRows ?? false;
  }

  weight(name: string, shape: readonly number[]): Value {
    return this.parameters.get(this.graph, name, shape);
  }

  /** Rows of the table `name` [rows, width] for token ids of any shape: [..., width]. Only those rows are read. */
  embedding(name: string, shape: readonly [number, number], ids: Value): Value {
    const rows = ops.gather(this.parameters.stored(this.graph, name, shape), ids, 0);
    return rows.dtype === 'float32' ? rows : ops.cast(rows, 'float32');
  }

  /** Linear layer `name` (without `.weight`) with its adapter if it has one. */
  linear(x: Value, name: string, { inFeatures, outFeatures, bias }: LinearShape): Value {
    return this.graph.scope(name.split('.').at(-1) ?? name, () => {
      const product = this.parameters.product(this.graph, x, `${name}.weight`, [outFeatures, inFeatures]);
      const y = bias ? ops.add(product, this.weight(`${name}.bias`, [outFeatures])) : product;
      const lora = this.parameters.lora(this.graph, name, inFeatures, outFeatures);
      return lora === undefined ? y : ops.add(y, this.adapter(x, name, lora));
    });
  }

  private adapter(x: Value, name: string, { a, b, scale, dropout }: LoraValues): Value {
    const rate = this.dropout ? dropout : 0;
    const low = ops.linear(rate === 0 ? x : dropOut(x, name, rate), a);
    const factor = scale / (1 - rate);
    const scaled = factor === 1 ? low : ops.mul(low, ops.scalar(this.graph, factor, 'float32'));
    return ops.linear(scaled, b);
  }

  rmsNorm(x: Value, name: string, size: number, eps: number): Value {
    return ops.rmsNorm(x, this.weight(`${name}.weight`, [size]), eps);
  }

  layerNorm(x: Value, name: string, size: number, eps: number): Value {
    return ops.layerNorm(x, this.weight(`${name}.weight`, [size]), this.weight(`${name}.bias`, [size]), eps);
  }
}
