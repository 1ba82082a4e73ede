import { GraphError } from './errors';

/**
 * One extent of a shape: a number, or a symbol whose extent is known only at run time (`'B'`, `'T'`), or a polynomial
 * of symbols (`'B*T'`, `'T+1'`). Equal strings are equal extents; different ones never broadcast.
 */
export type Dim = number | string;

/** monomial (sorted symbols joined by `*`, empty for the constant) → coefficient */
type Polynomial = ReadonlyMap<string, number>;

const parsed = new Map<string, Polynomial>();
/** first factor → second → product: a graph's shapes repeat the same few extents */
const products = new Map<Dim, Map<Dim, Dim>>();

function parse(dim: Dim): Polynomial {
  if (typeof dim === 'number') return new Map(dim === 0 ? [] : [['', dim]]);
  const known = parsed.get(dim);
  if (known !== undefined) return known;
  const sum = new Map<string, number>();
  const text = dim.replace(/\s+/g, '');
  if (!/^[+-]?[^+\-*]+([+\-*][^+\-*]+)*$/.test(text)) throw badDim(dim);
  for (const [, sign, term] of text.matchAll(/([+-]?)([^+-]+)/g)) {
    let coefficient = sign === '-' ? -1 : 1;
    const symbols: string[] = [];
    for (const factor of term.split('*')) {
      if (/^\d+$/.test(factor)) coefficient *= Number(factor);
      else if (/^[A-Za-z_][\w.]*$/.test(factor)) symbols.push(factor);
      else throw badDim(dim);
    }
    const key = symbols.toSorted().join('*');
    sum.set(key, (sum.get(key) ?? 0) + coefficient);
  }
  parsed.set(dim, sum);
  return sum;
}

function badDim(dim: Dim): GraphError {
  return new GraphError(
    'build',
    `"${dim}" is not a dimension; use a number, a name such as 'B', or sums and products of these`,
  );
}

function format(polynomial: Polynomial): Dim {
  const terms = [...polynomial]
    .filter(([, c]) => c !== 0)
    .toSorted(([a], [b]) => (a < b ? 1 : a > b ? -1 : 0));
  if (terms.length === 0) return 0;
  if (terms.length === 1 && terms[0][0] === '') return terms[0][1];
  const texts = terms.map(([key, c]) => {
    const size = Math.abs(c);
    const body = key === '' ? String(size) : size === 1 ? key : `${size}*${key}`;
    return (c < 0 ? '-' : '+') + body;
  });
  const text = texts.join('');
  return text.startsWith('+') ? text.slice(1) : text;
}

/** The canonical form of a dimension, so that equal extents are equal strings. */
export function canonical(dim: Dim): Dim {
  return typeof dim === 'number' ? dim : format(parse(dim));
}

export function addDims(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  const sum = new Map(parse(a));
  for (const [key, c] of parse(b)) sum.set(key, (sum.get(key) ?? 0) + c);
  return format(sum);
}

export function mulDims(a: Dim, b: Dim): Dim {
  if (typeof a === 'number' && typeof b === 'number') return a * b;
  let ofFirst = products.get(a);
  if (ofFirst === undefined) products.set(a, (ofFirst = new Map()));
  let product = ofFirst.get(b);
  if (product === undefined) ofFirst.set(b, (product = multiplied(a, b)));
  return product;
}

function multiplied(a: Dim, b: Dim): Dim {
  const product = new Map<string, number>();
  for (const [ka, ca] of parse(a)) {
    for (const [kb, cb] of parse(b)) {
      const key = [...ka.split('*'), ...kb.split('*')].filter(Boolean).toSorted().join('*');
      product.set(key, (product.get(key) ?? 0) + ca * cb);
    }
  }
  return format(product);
}

export function subDims(a: Dim, b: Dim): Dim {
  return addDims(a, mulDims(-1, b));
}

export function productOf(dims: readonly Dim[]): Dim {
  return dims.reduce(mulDims, 1);
}

/** `a / b` if it is exact for a single-term `b`, else undefined. */
export function divideDims(a: Dim, b: Dim): Dim | undefined {
  const divisor = [...parse(b)];
  if (divisor.length !== 1) return canonical(a) === canonical(b) ? 1 : undefined;
  const [symbols, coefficient] = [divisor[0][0].split('*').filter(Boolean), divisor[0][1]];
  const quotient = new Map<string, number>();
  for (const [key, c] of parse(a)) {
    const rest = key.split('*').filter(Boolean);
    for (const symbol of symbols) {
      const at = rest.indexOf(symbol);
      if (at < 0) return undefined;
      rest.splice(at, 1);
    }
    if (c % coefficient !== 0) return undefined;
    quotient.set(rest.join('*'), c / coefficient);
  }
  return format(quotient);
}

/** The terms of a dimension: coefficient and symbols of each. */
export function termsOf(dim: Dim): { coefficient: number; symbols: string[] }[] {
  return [...parse(dim)].map(([key, coefficient]) => ({
    coefficient,
    symbols: key.split('*').filter(Boolean),
  }));
}

/** A dimension of one symbol: `factor * symbol + offset`. */
export interface LoneSymbol {
  readonly symbol: string;
  readonly factor: number;
  readonly offset: number;
}

/** The symbol of a dimension that determines its extent (`B`, `4*Q`, `T+1`); undefined for any other dimension. */
export function loneSymbol(dim: Dim): LoneSymbol | undefined {
  const terms = termsOf(dim);
  const symbolic = terms.filter(({ symbols }) => symbols.length > 0);
  if (symbolic.length !== 1 || symbolic[0].symbols.length !== 1) return undefined;
  const { coefficient: factor, symbols } = symbolic[0];
  const offset = terms.find(({ symbols: none }) => none.length === 0)?.coefficient ?? 0;
  return { symbol: symbols[0], factor, offset };
}

/** The numeric value of a dimension. Throws if the extent of a symbol is missing. */
export function evaluateDim(dim: Dim, extents: ReadonlyMap<string, number>): number {
  if (typeof dim === 'number') return dim;
  return termsOf(dim).reduce(
    (sum, { coefficient, symbols }) =>
      sum + symbols.reduce((product, symbol) => product * extentOf(symbol, extents), coefficient),
    0,
  );
}

function extentOf(symbol: string, extents: ReadonlyMap<string, number>): number {
  const extent = extents.get(symbol);
  if (extent !== undefined) return extent;
  const known = [...extents.keys()].join(', ') || 'none';
  throw new GraphError('session', `the extent of dimension "${symbol}" is not known (known: ${known})`);
}

export function sameShape(a: readonly Dim[], b: readonly Dim[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i]);
}

export function shapeText(shape: readonly Dim[]): string {
  return `[${shape.join(', ')}]`;
}

function broadcastDim(a: Dim, b: Dim): Dim | undefined {
  if (a === b || b === 1) return a;
  return a === 1 ? b : undefined;
}

/** The shape of an elementwise result (numpy rules); undefined if the shapes are incompatible. */
export function broadcast(a: readonly Dim[], b: readonly Dim[]): Dim[] | undefined {
  const rank = Math.max(a.length, b.length);
  const result: Dim[] = [];
  for (let i = 0; i < rank; i++) {
    const dim = broadcastDim(a[a.length - rank + i] ?? 1, b[b.length - rank + i] ?? 1);
    if (dim === undefined) return undefined;
    result.push(dim);
  }
  return result;
}
