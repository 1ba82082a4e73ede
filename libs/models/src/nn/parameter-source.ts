import type { Graph, Value } from '@ui-rl/graph';

/** The two matrices of a LoRA layer as graph values, and the factor on their product. */
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
  /** whether their storage type has no arithmetic, so that they need conversion */
  readonly isConverted: boolean;
  /** a matrix as float32, converted in `graph`: inside a loop body only when it runs */
  readonly matrix: (graph: Graph, index: number) => Value;
}

/** Matrices that are multiplied in their storage format: x [R, in] → [R, out], in the graph of x. */
export interface PackedStack {
  readonly product: (x: Value, index: number) => Value;
}

/**
 * The source of all parameters of a graph. A source serves one graph: values are shared within it, so that tied
 * weights are one value.
 */
export interface ParameterSource {
  /** the weight `name` with checkpoint shape `shape`, as float32 */
  get(graph: Graph, name: string, shape: readonly number[]): Value;
  /** the same weight in its storage type */
  stored(graph: Graph, name: string, shape: readonly number[]): Value;
  /**
   * x · Wᵀ for the weight [out, in] of a linear layer: [..., in] → [..., out]. `linear` multiplies with a weight that
   * is not packed, default `ops.linear`.
   */
  product(
    graph: Graph,
    x: Value,
    name: string,
    shape: readonly [number, number],
    linear?: (x: Value, weight: Value) => Value,
  ): Value;
  /** the matrices of a stack of linear layers without bias, as one weight [layers, out, in] */
  stack(graph: Graph, name: string, shape: readonly [number, number, number]): MatrixStack | PackedStack;
  /** the adapter of a linear layer or of a stack, if there is one */
  lora(graph: Graph, module: string, inFeatures: number, outFeatures: number): LoraValues | undefined;
  /** the graph inputs by name, in order of first use */
  readonly inputs: ReadonlyMap<string, Value>;
}
