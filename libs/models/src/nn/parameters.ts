import { ops, type Graph, type Value } from '@ui-rl/graph';
import { loraName, type LoraPlan } from '../lora/plan';
import type { WeightStore } from '../weights/store';

/** The two matrices of a LoRA layer as graph values, and what to multiply their product with. */
export interface LoraValues {
  a: Value;
  b: Value;
  scale: number;
}

/**
 * Where a graph builder gets every parameter from. One source serves one graph: values are shared within it, so that tied
 * weights are one value.
 */
export interface ParameterSource {
  /** the weight `name`, whose checkpoint shape is `shape` */
  get(graph: Graph, name: string, shape: readonly number[]): Value;
  /** the adapter of a linear layer, if it has one */
  lora(graph: Graph, module: string, inFeatures: number, outFeatures: number): LoraValues | undefined;
  /** what became a graph input, by name, in order of first use */
  readonly inputs: ReadonlyMap<string, Value>;
}

export interface ParametersOptions {
  weights: WeightStore;
  /** which weights are graph inputs (trained or swapped) instead of constants; default none */
  inputs?: 'all' | 'none' | ((name: string) => boolean);
  lora?: LoraPlan;
}

/** Weights as constants from a {@link WeightStore} or as graph inputs named like the checkpoint; adapters as inputs. */
export class Parameters implements ParameterSource {
  readonly inputs = new Map<string, Value>();
  private readonly constants = new Map<string, Value>();
  private readonly loraModules: ReadonlySet<string>;

  constructor(private readonly options: ParametersOptions) {
    this.loraModules = new Set(options.lora?.modules.map(({ name }) => name));
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
    if (this.isInput(name)) return this.input(graph, name, shape);
    let value = this.constants.get(name);
    if (value === undefined) {
      const data = this.options.weights.constant(name, shape);
      value = graph.parameter(name, { dtype: 'float32', shape: [...shape], ...data });
      this.constants.set(name, value);
    }
    return value;
  }

  lora(graph: Graph, module: string, inFeatures: number, outFeatures: number): LoraValues | undefined {
    const { lora } = this.options;
    if (lora === undefined || !this.loraModules.has(module)) return undefined;
    return {
      a: this.input(graph, loraName(module, 'A'), [lora.config.rank, inFeatures]),
      b: this.input(graph, loraName(module, 'B'), [outFeatures, lora.config.rank]),
      scale: lora.scale,
    };
  }
}

/** A linear layer of the checkpoint, with its adapter: y = xWᵀ + b + scale · (xAᵀ)Bᵀ; x [..., in] → [..., out]. */
export interface LinearShape {
  inFeatures: number;
  outFeatures: number;
  bias: boolean;
}

/** Builds the layers that all families share over one graph and one source of parameters. */
export class LayerBuilder {
  constructor(
    readonly graph: Graph,
    readonly parameters: ParameterSource,
  ) {}

  weight(name: string, shape: readonly number[]): Value {
    return this.parameters.get(this.graph, name, shape);
  }

  /** Linear layer `name` (without `.weight`) with its adapter if it has one. */
  linear(x: Value, name: string, { inFeatures, outFeatures, bias }: LinearShape): Value {
    return this.graph.scope(name.split('.').at(-1) ?? name, () => {
      const weight = this.weight(`${name}.weight`, [outFeatures, inFeatures]);
      const y = ops.linear(x, weight, bias ? this.weight(`${name}.bias`, [outFeatures]) : undefined);
      const lora = this.parameters.lora(this.graph, name, inFeatures, outFeatures);
      return lora === undefined ? y : ops.add(y, this.adapter(x, lora));
    });
  }

  private adapter(x: Value, { a, b, scale }: LoraValues): Value {
    const low = ops.linear(x, a);
    const scaled = scale === 1 ? low : ops.mul(low, ops.scalar(this.graph, scale, 'float32'));
    return ops.linear(scaled, b);
  }

  rmsNorm(x: Value, name: string, size: number, eps: number): Value {
    return ops.rmsNorm(x, this.weight(`${name}.weight`, [size]), eps);
  }

  layerNorm(x: Value, name: string, size: number, eps: number): Value {
    return ops.layerNorm(x, this.weight(`${name}.weight`, [size]), this.weight(`${name}.bias`, [size]), eps);
  }
}
