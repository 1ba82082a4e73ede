import type { Tensor } from './onnxruntime';
import { termsOf } from './dims';
import { GraphError } from './errors';
import type { Value } from './graph';

/**
 * The extents of all symbols that stand alone in the shapes of inputs (`B`, `4*Q`), read from what is fed to them.
 * @throws GraphError where an input is fed with another rank.
 */
export function extentsOf(
  inputs: readonly Value[],
  feeds: Readonly<Record<string, Tensor>>,
): Map<string, number> {
  const extents = new Map<string, number>();
  for (const { name, shape } of inputs) {
    const fed = feeds[name];
    if (fed === undefined) continue;
    if (fed.dims.length !== shape.length) {
      throw new GraphError(
        'session',
        `input "${name}" has rank ${shape.length}, found [${fed.dims.join(', ')}]`,
      );
    }
    shape.forEach((dim, axis) => {
      const terms = termsOf(dim);
      if (typeof dim === 'number' || terms.length !== 1 || terms[0].symbols.length !== 1) return;
      extents.set(terms[0].symbols[0], fed.dims[axis] / terms[0].coefficient);
    });
  }
  return extents;
}
