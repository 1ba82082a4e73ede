import { cloneInto, type Lowerings } from '../clone';
import { Graph } from '../graph';

/** The same function as another graph with the operations of the table replaced. Nodes keep their path names. */
export function lower(source: Graph, lowerings: Lowerings): Graph {
  const target = new Graph(source.name);
  cloneInto(source, target, new Map(), lowerings);
  return target;
}
