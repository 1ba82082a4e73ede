import type { Attributes } from './attributes';
import { checkConstant, type ConstantData } from './constant';
import { canonical, loneSymbol, shapeText, type Dim } from './dims';
import type { DType, TypedArray } from './dtype';
import { GraphError } from './errors';

// A graph, its nodes and its values refer to each other, so they are in one file; code that builds, differentiates,
// copies or writes graphs is elsewhere and imports this.

/** Constants up to this size are shared if type, shape and bytes are equal. */
const dedupLimitBytes = 4096;

/** Where to read the extent of a symbol at run time: `shape(value)[axis] = factor * symbol + offset`. */
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
  /** the body of a loop: a graph that may read values of this one */
  readonly body?: Graph;
  /** derivative of this node, instead of the rule of its operation; it has an entry per operand, see `operandsOf` */
  readonly derivative?: Rule;
}

/** All operands of a node: its inputs, and the values that its body captures from the enclosing graph. */
export function operandsOf(node: Node): readonly (Value | null)[] {
  return node.body === undefined ? node.inputs : [...node.inputs, ...node.body.captures];
}

/** A tensor of a graph: an input, a constant, or an output of a node. Created only by `Graph`. */
export class Value {
  /** the node that computes it; undefined for inputs and constants */
  producer: Node | undefined;
  /** differentiation stops at this value */
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
 * The data for a rule of one operation: its node, and the gradients of the loss with respect to its outputs
 * (undefined if the loss does not depend on an output).
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

/** Builds the gradient of one input; null if there is none. Called only for inputs whose gradient is required. */
export type InputGradient = (() => Value) | null;

/** The derivative of an operation: one entry per input. */
export type Rule = (context: RuleContext) => readonly InputGradient[];

/**
 * A tensor program under construction: a pure function from inputs to outputs, with embedded constants. Nodes get
 * path names from the scopes in which they are built, such as `/model/layers.0/attn/q_proj/MatMul`.
 */
export class Graph {
  readonly nodes: Node[] = [];
  readonly inputs: Value[] = [];
  readonly outputs: { readonly name: string; readonly value: Value }[] = [];
  readonly constants: Value[] = [];
  /** points at which the graph can be split, see `planSegments` */
  readonly cuts: Value[] = [];
  /** values of the enclosing graph that a body reads, in order of first use */
  readonly captures: Value[] = [];
  /** results that helpers share within the graph, by their own keys */
  readonly memo = new Map<string, Value>();
  /**
   * Whether a reshape of a reshape reads the original value. Only while a backward pass is built, and in graphs
   * without one: it would hide an intermediate value from differentiation.
   */
  looksThroughReshapes = false;

  /** number of enclosing graphs */
  readonly depth: number;

  private path = '';
  private readonly names = new Set<string>();
  private readonly counters = new Map<string, number>();
  private readonly shared = new Map<string, Value>();
  private readonly symbols = new Map<string, SymbolSource>();
  private readonly dims = new Map<string, SymbolSource>();

  /** @param outer the graph in which this one is the body of a loop */
  constructor(
    readonly name: string,
    readonly outer?: Graph,
  ) {
    this.depth = outer === undefined ? 0 : outer.depth + 1;
  }

  /** Marks a value as a point at which the graph can be split: later nodes read little else from before. */
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
   * A named constant: data in memory, or `external` data that stays in its file (any file with the tensor's
   * little-endian bytes, e.g. safetensors) and is mapped by ONNX Runtime.
   */
  parameter(name: string, tensor: ConstantData): Value {
    checkConstant(name, tensor);
    const value = this.value(this.claim(name), tensor.dtype, tensor.shape, tensor);
    this.constants.push(value);
    return value;
  }

  /**
   * An unnamed constant; small ones with equal type, shape and bytes are shared. Constants of a body belong to the
   * enclosing graph.
   */
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

  /**
   * Adds one operation with declared results. The functions of `ops` infer types and shapes; this does not check
   * them.
   */
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

  /** Makes `value` a result of the graph under `name`. One value may have several output names. */
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

  /** A value with this composite dimension, such as `B*T` where neither factor can be read on its own. */
  sourceOfDim(dim: string): SymbolSource | undefined {
    return this.dims.get(dim) ?? this.outer?.sourceOfDim(dim);
  }

  /** Where the extent of `symbol` can be read at run time. Throws if no value of the graph has it. */
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

  /** Whether a constant of the graph is stored in a file. */
  get hasExternalData(): boolean {
    return this.constants.some((value) => value.constant !== undefined && 'external' in value.constant);
  }

  /**
   * The body graph of a loop. Its inputs are named after it, so that no inner name collides with one of the enclosing
   * graph.
   * @param name of a body that is copied; default: derived from the scope
   */
  body(name = this.unique(`${this.path}/body`)): Graph {
    this.names.add(name);
    return new Graph(name, this);
  }

  /** Accepts a value of this graph, or of an enclosing one, which becomes a capture. */
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
