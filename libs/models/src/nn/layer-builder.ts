import { ops, type Graph, type Value } from '@ui-rl/graph';
import type { AttentionKind } from '../families/base';
import { dropOut } from './dropout';
import type { LoraValues, ParameterSource } from './parameter-source';

/** A linear layer of the checkpoint, with its adapter: y = xWᵀ + b + scale · (xAᵀ)Bᵀ; x [..., in] → [..., out]. */
export interface LinearShape {
  inFeatures: number;
  outFeatures: number;
  bias: boolean;
}

export interface BuilderOptions {
  /** whether to apply the adapter's dropout, default false */
  dropout?: boolean | undefined;
  /** default `whole` */
  attention?: AttentionKind | undefined;
  /** see `VisionOptions.fused`, default false */
  fused?: boolean | undefined;
  /** whether there are few rows and no derivatives: layers of a stack without rows are then skipped. Default false */
  fewRows?: boolean | undefined;
  /** see `SamplerOptions.weightsFirst`, default false */
  weightsFirst?: boolean | undefined;
}

/** From this many numbers on, reading a weight takes longer than transposing a few rows. */
const LARGE_WEIGHT = 2 ** 20;

/** Builds the layers that all families share, over one graph and one source of parameters. */
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

  get fused(): boolean {
    return this.options.fused ?? false;
  }

  get fewRows(): boolean {
    return this.options.fewRows ?? false;
  }

  weight(name: string, shape: readonly number[]): Value {
    return this.parameters.get(this.graph, name, shape);
  }

  /**
   * Looks up rows of the table `name` [rows, width] for token ids of any shape: [..., width]. Only those rows are
   * read.
   */
  embedding(name: string, shape: readonly [number, number], ids: Value): Value {
    const rows = ops.gather(this.parameters.stored(this.graph, name, shape), ids, 0);
    return rows.dtype === 'float32' ? rows : ops.cast(rows, 'float32');
  }

  /** Linear layer `name` (without `.weight`), with its adapter if it has one. */
  linear(x: Value, name: string, { inFeatures, outFeatures, bias }: LinearShape): Value {
    return this.graph.scope(name.split('.').at(-1) ?? name, () => {
      const shape = [outFeatures, inFeatures] as const;
      const linear = this.fewRows ? this.linearOfFewRows : ops.linear;
      const product = this.parameters.product(this.graph, x, `${name}.weight`, shape, linear);
      const y = bias ? ops.add(product, this.weight(`${name}.bias`, [outFeatures])) : product;
      const lora = this.parameters.lora(this.graph, name, inFeatures, outFeatures);
      return lora === undefined ? y : ops.add(y, this.adapter(x, name, lora));
    });
  }

  /** `ops.linear` for a few rows without derivatives. */
  readonly linearOfFewRows = (x: Value, weight: Value): Value => {
    const isLarge = Number(weight.shape[0]) * Number(weight.shape[1]) >= LARGE_WEIGHT;
    return this.options.weightsFirst === true && isLarge
      ? ops.linearOfFewRows(x, weight)
      : ops.linear(x, weight);
  };

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
