import type { Tensor } from './onnxruntime';
import { loneSymbol, type LoneSymbol } from './dims';
import { GraphError } from './errors';
import type { Value } from './graph';

type Feeds = Readonly<Record<string, Tensor>>;

/**
 * The extents of all symbols that occur alone in the shapes of inputs (`B`, `4*Q`, `4*Q+1`), read from the feeds.
 * @throws GraphError if an input is fed with another rank, or a symbol has two extents: the forward pass of a graph
 *   may succeed, but a node that reads the extent, such as a derivative, would be wrong.
 */
export function extentsOf(inputs: readonly Value[], feeds: Feeds): Map<string, number> {
  return extentReader(inputs)(feeds);
}

/** {@link extentsOf} for many runs, without retaining the inputs. */
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
      for (const { symbol, axis, factor, offset } of symbols) {
        const extent = (dims[axis] - offset) / factor;
        const known = extents.get(symbol) ?? extent;
        if (known !== extent) throw twoExtents(symbol, known, extent, name);
        extents.set(symbol, extent);
      }
    }
    return extents;
  };
}

/** By axis: symbols that stand alone in a dimension. */
function loneSymbols(shape: Value['shape']): (LoneSymbol & { axis: number })[] {
  return shape.flatMap((dim, axis) => {
    const found = loneSymbol(dim);
    return found === undefined ? [] : [{ ...found, axis }];
  });
}

function twoExtents(symbol: string, known: number, found: number, name: string): GraphError {
  return new GraphError(
    'session',
    `dimension "${symbol}" is ${known} in the inputs before "${name}" and ${found} there; extents that differ need different symbols`,
  );
}
