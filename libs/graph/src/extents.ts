import type { Tensor } from './onnxruntime';
import { termsOf } from './dims';
import { GraphError } from './errors';
import type { Value } from './graph';

type Feeds = Readonly<Record<string, Tensor>>;

/** A symbol that stands alone in the shape of an input: `shape[axis] = factor * symbol`. */
interface LoneSymbol {
  readonly symbol: string;
  readonly axis: number;
  readonly factor: number;
}

/**
 * The extents of all symbols that stand alone in the shapes of inputs (`B`, `4*Q`), read from what is fed to them.
 * @throws GraphError where an input is fed with another rank, or a symbol has two extents: the forward pass of a graph may not
 * notice, but what reads the extent, such as a derivative, would be wrong.
 */
export function extentsOf(inputs: readonly Value[], feeds: Feeds): Map<string, number> {
  return extentReader(inputs)(feeds);
}

/** {@link extentsOf} for many runs; it does not hold the inputs. */
export function extentReader(inputs: readonly Value[]): (feeds: Feeds) => Map<string, number> {
  const declared = inputs.map(({ name, shape }) => ({
    name,
    rank: shape.length,
    symbols: loneSymbols(shape),
  }));
  return (feeds) => {
    const extents = new Map<string, number>();
    for (const { name, rank, symbols } of declared) {
      const dims = feeds[name]?.dims;
      if (dims === undefined) continue;
      if (dims.length !== rank) {
        throw new GraphError('session', `input "${name}" has rank ${rank}, found [${dims.join(', ')}]`);
      }
      for (const { symbol, axis, factor } of symbols) {
        const extent = dims[axis] / factor;
        const known = extents.get(symbol) ?? extent;
        if (known !== extent) throw twoExtents(symbol, known, extent, name);
        extents.set(symbol, extent);
      }
    }
    return extents;
  };
}

function loneSymbols(shape: Value['shape']): LoneSymbol[] {
  return shape.flatMap((dim, axis) => {
    const terms = termsOf(dim);
    if (terms.length !== 1 || terms[0].symbols.length !== 1) return [];
    return [{ symbol: terms[0].symbols[0], axis, factor: terms[0].coefficient }];
  });
}

function twoExtents(symbol: string, known: number, found: number, name: string): GraphError {
  return new GraphError(
    'session',
    `dimension "${symbol}" is ${known} in the inputs before "${name}" and ${found} there; extents that differ need different symbols`,
  );
}
