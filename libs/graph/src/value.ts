import type { Dim } from './dims';
import type { DType, TypedArray } from './dtype';
import type { Rule } from './gradient/rule';
import type { Graph } from './graph';

/** A floating-point attribute; plain numbers are integer attributes. */
export class FloatAttribute {
  constructor(readonly value: number) {}
}

/** Marks an attribute as floating point: `{ alpha: float(0.5) }`. */
export function float(value: number): FloatAttribute {
  return new FloatAttribute(value);
}

/** Attribute of a node: integer, integers, text, or `float(x)`. */
export type Attribute = number | readonly number[] | string | FloatAttribute;

export type Attributes = Readonly<Record<string, Attribute>>;

/** Data that lies in a file: `offset` and `length` in bytes. */
export interface ExternalData {
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/** The data of a constant, held in memory or in a file that ONNX Runtime maps. */
export type ConstantData =
  | { readonly dtype: DType; readonly shape: readonly number[]; readonly data: TypedArray }
  | { readonly dtype: DType; readonly shape: readonly number[]; readonly external: ExternalData };

/** One operation of a graph. */
export interface Node {
  /** path name, unique in the graph: `/model/layers.0/attn/MatMul` */
  readonly name: string;
  readonly opType: string;
  /** empty for ONNX's own operators */
  readonly domain: string;
  readonly inputs: readonly (Value | null)[];
  readonly outputs: readonly Value[];
  readonly attributes: Attributes;
  /** what a loop repeats: a graph that may read values of this one */
  readonly body?: Graph;
  /** derivative of this node, instead of the rule of its operation; it has an entry per operand, see `operandsOf` */
  readonly derivative?: Rule;
}

/** Everything a node reads: its inputs, and what its body takes from the graph around it. */
export function operandsOf(node: Node): readonly (Value | null)[] {
  return node.body === undefined ? node.inputs : [...node.inputs, ...node.body.captures];
}

/** A tensor of a graph: an input, a constant, or an output of a node. Made by `Graph` only. */
export class Value {
  /** the node that computes it; undefined for inputs and constants */
  producer: Node | undefined;
  /** differentiation does not look past this value */
  detached = false;

  constructor(
    readonly graph: Graph,
    readonly name: string,
    readonly dtype: DType,
    readonly shape: readonly Dim[],
    /** set for constants */
    readonly constant?: ConstantData,
  ) {}

  get rank(): number {
    return this.shape.length;
  }
}
