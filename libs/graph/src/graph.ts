import type { Attributes } from './attributes';
import { checkConstant, type ConstantData } from './constant';
import { canonical, loneSymbol, shapeText, type Dim } from './dims';
import type { DType, TypedArray } from './dtype';
import { GraphError } from './errors';

// A graph, its nodes and its values know each other, so they stand in one file; what builds, differentiates, copies or writes
// graphs stands outside and imports this.

/** Constants up to this size are shared when type, shape and bytes are equal. */
const dedupLimitBytes = 4096;

/** Where the extent of a symbol can be read when the graph runs: `shape(value)[axis] = factor * symbol + offset`. */
export interface SymbolSource {
  readonly value: Value;
  readonly axis: number;
  readonly factor: number;
  readonly offset: number;
}

/** Type and shape of a node's output. */
export interface OutputSpec {
  readonly dtype: DType;
  readonly shape: readonly Dim[];
}

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

/**
 * What a rule sees of one operation: its node, and the gradients of the loss with respect to its outputs (undefined
 * where the loss does not depend on an output).
 */
export interface RuleContext {
  readonly graph: Graph;
  readonly node: Node;
  /** input i */
  readonly input: (i: number) => Value;
  /** output i */
  readonly output: (i: number) => Value;
  /** gradient of output 0, or of output i */
  readonly grad: Value;
  readonly gradOf: (i: number) => Value | undefined;
}

/** How to build the gradient of one input; null where there is none. Called only for inputs whose gradient is required. */
export type InputGradient = (() => Value) | null;

/** The derivative of an operation: one entry per input. */
export type Rule = (context: RuleContext) => readonly InputGradient[];

/**
 * A tensor program under construction: a pure function from inputs to outputs, with constants inside. Nodes get path
 * names from the scopes they are built in, such as `/model/layers.0/attn/q_proj/MatMul`.
 */
export class Graph {
  readonly nodes: Node[] = [];
  readonly inputs: Value[] = [];
  readonly outputs: { readonly name: string; readonly value: Value }[] = [];
  readonly constants: Value[] = [];
  /** points at which the graph can be run in parts, see `planSegments` */
  readonly cuts: Value[] = [];
  /** values of the graph around this one that a body reads, in order of first use */
  readonly captures: Value[] = [];
  /** results that helpers share within the graph, by a key of their own */
  readonly memo = new Map<string, Value>();
  /**
   * Whether a reshape of a reshape takes what came before. Only while a backward pass is built, and in graphs that have none:
   * it would hide a value from those who differentiate by it.
   */
  looksThroughReshapes = false;

  /** how many graphs are around this one */
  readonly depth: number;

  private path = '';
  private readonly names = new Set<string>();
  private readonly counters = new Map<string, number>();
  private readonly shared = new Map<string, Value>();
  private readonly symbols = new Map<string, SymbolSource>();
  private readonly dims = new Map<string, SymbolSource>();

  /** @param outer the graph that this one is the body of a loop in */
  constructor(
    readonly name: string,
    readonly outer?: Graph,
  ) {
    this.depth = outer === undefined ? 0 : outer.depth + 1;
  }

  /** Marks a value as a point at which the graph can be run in parts: what follows it reads little else from before. */
  cut(value: Value): Value {
    this.cuts.push(value);
    return value;
  }

  /** Builds inside a named scope; scopes nest. */
  scope<T>(name: string, build: () => T): T {
    const outer = this.path;
    this.path = `${outer}/${name}`;
    try {
      return build();
    } finally {
      this.path = outer;
    }
  }

  /** Declares a graph input that the caller feeds under `name`. */
  input(name: string, dtype: DType, shape: readonly Dim[]): Value {
    const value = this.value(this.claim(name), dtype, shape);
    this.inputs.push(value);
    return value;
  }

  /**
   * A named constant: data held in memory, or `external` data that stays in its file (any file that holds the tensor's
   * little-endian bytes, e.g. safetensors) and is mapped by ONNX Runtime.
   */
  parameter(name: string, tensor: ConstantData): Value {
    checkConstant(name, tensor);
    const value = this.value(this.claim(name), tensor.dtype, tensor.shape, tensor);
    this.constants.push(value);
    return value;
  }

  /** An unnamed constant; small ones with equal type, shape and bytes become one. Those of a body belong to the graph around. */
  constant(dtype: DType, shape: readonly number[], data: TypedArray): Value {
    if (this.outer !== undefined) return this.outer.constant(dtype, shape, data);
    if (data.byteLength > dedupLimitBytes) {
      return this.parameter(this.unique('/constants/data'), { dtype, shape, data, literal: true });
    }
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64');
    const key = `${dtype}${shapeText(shape)}${bytes}`;
    let value = this.shared.get(key);
    if (value === undefined) {
      const literal = { dtype, shape, data: data.slice(), literal: true } as const;
      value = this.parameter(this.unique(`/constants/${dtype}`), literal);
      this.shared.set(key, value);
    }
    return value;
  }

  /** Adds one operation with declared results. The functions of `ops` infer types and shapes; this does not check them. */
  node(
    opType: string,
    inputs: readonly (Value | null)[],
    attributes: Attributes,
    outputs: readonly OutputSpec[],
    domain = '',
    extra: Pick<Node, 'body' | 'derivative'> = {},
  ): Value[] {
    for (const input of inputs) if (input !== null) this.admit(input, opType);
    for (const input of extra.body?.captures ?? []) this.admit(input, opType);
    const name = this.unique(`${this.path}/${opType}`);
    const values = outputs.map((spec, i) => this.value(`${name}_output_${i}`, spec.dtype, spec.shape));
    const node: Node = { name, opType, domain, inputs, outputs: values, attributes, ...extra };
    for (const value of values) value.producer = node;
    this.nodes.push(node);
    return values;
  }

  /** Makes `value` a result of the graph under `name`. One value may be given out under several names. */
  output(name: string, value: Value): void {
    if (value.graph !== this) {
      throw new GraphError(
        'build',
        `output "${name}" of graph "${this.name}" belongs to graph "${value.graph.name}"`,
      );
    }
    if (this.names.has(name)) {
      throw new GraphError(
        'build',
        `graph "${this.name}" has the name "${name}" twice; outputs need different names`,
      );
    }
    this.names.add(name);
    this.outputs.push({ name, value });
  }

  /** Whether the extent of a symbol can be read at run time. */
  knowsSymbol(symbol: string): boolean {
    return this.symbols.has(symbol) || this.outer?.knowsSymbol(symbol) === true;
  }

  /** A value that has a dimension as a whole, such as `B*T` where neither factor can be read on its own. */
  sourceOfDim(dim: string): SymbolSource | undefined {
    return this.dims.get(dim) ?? this.outer?.sourceOfDim(dim);
  }

  /** Where the extent of `symbol` can be read at run time. Throws where no value of the graph has it. */
  sourceOf(symbol: string): SymbolSource {
    const source = this.symbols.get(symbol);
    if (source === undefined && this.outer !== undefined) return this.outer.sourceOf(symbol);
    if (source === undefined) {
      const known = [...this.symbols.keys()].join(', ') || 'none';
      throw new GraphError(
        'build',
        `no value of graph "${this.name}" has the dimension "${symbol}" (known: ${known})`,
      );
    }
    return source;
  }

  /** Whether a constant of the graph lies in a file. */
  get hasExternalData(): boolean {
    return this.constants.some((value) => value.constant !== undefined && 'external' in value.constant);
  }

  /**
   * The graph that a loop repeats. Its inputs are named after it, so that no name within is one of the graph around.
   * @param name of a body that is copied; absent: one after the scope
   */
  body(name = this.unique(`${this.path}/body`)): Graph {
    this.names.add(name);
    return new Graph(name, this);
  }

  /** A value of this graph, or one of the graphs around it, which becomes a capture. */
  private admit(input: Value, opType: string): void {
    if (input.graph === this || this.captures.includes(input)) return;
    for (let graph = this.outer; graph !== undefined; graph = graph.outer) {
      if (input.graph !== graph) continue;
      this.captures.push(input);
      return;
    }
    throw new GraphError(
      'build',
      `${opType} in graph "${this.name}" takes "${input.name}", which belongs to graph "${input.graph.name}"; ` +
        'declare an input for it instead',
    );
  }

  private value(name: string, dtype: DType, shape: readonly Dim[], constant?: ConstantData): Value {
    const value = new Value(this, name, dtype, shape.map(canonical), constant);
    value.shape.forEach((dim, axis) => {
      if (typeof dim === 'string') this.noteSymbol(dim, value, axis);
    });
    return value;
  }

  private noteSymbol(dim: string, value: Value, axis: number): void {
    if (!this.dims.has(dim)) this.dims.set(dim, { value, axis, factor: 1, offset: 0 });
    const found = loneSymbol(dim);
    if (found === undefined) return;
    const { symbol, ...scale } = found;
    const isPlain = scale.factor === 1 && scale.offset === 0;
    const known = this.symbols.get(symbol);
    if (known === undefined || (isPlain && (known.factor !== 1 || known.offset !== 0)))
      this.symbols.set(symbol, { value, axis, ...scale });
  }

  private claim(name: string): string {
    if (name === '' || this.names.has(name)) {
      throw new GraphError(
        'build',
        `graph "${this.name}" has the name "${name}" already; names must be unique`,
      );
    }
    this.names.add(name);
    return name;
  }

  private unique(base: string): string {
    for (;;) {
      const count = this.counters.get(base) ?? 0;
      this.counters.set(base, count + 1);
      const name = count === 0 ? base : `${base}_${count}`;
      if (!this.names.has(name)) return name;
    }
  }
}
