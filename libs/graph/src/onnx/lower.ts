import { cloneInto, type Lowerings } from '../clone';
import { Graph } from '../graph';

/** The same function as another graph, in which operations of the table are replaced. Names of nodes keep their paths. */
export function lower(source: Graph, lowerings: Lowerings): Graph {
  const target = new Graph(source.name);
  cloneInto(source, target, new Map(), lowerings);
  return target;
}
