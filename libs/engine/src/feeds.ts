import type { Tensor } from '@ui-rl/graph';

/** Tensors by the names of a graph's inputs or outputs. */
export type Feeds = Readonly<Record<string, Tensor>>;
