import type { Graph, Value } from '@ui-rl/graph';

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
