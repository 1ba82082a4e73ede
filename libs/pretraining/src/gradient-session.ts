import { gradients, Session, type Graph, type Tensor, type Value } from '@ui-rl/graph';

/** A loss graph that also returns the gradient of each weight. */
export class GradientSession {
  private constructor(
    private readonly session: Session,
    /** Weight → output. */
    private readonly outputs: ReadonlyMap<string, string>,
  ) {}

  /** @param weights graph inputs by name; other outputs of the graph are results of `run` */
  static async create(
    graph: Graph,
    total: Value,
    weights: ReadonlyMap<string, Value>,
  ): Promise<GradientSession> {
    const names = [...weights.keys()];
    const outputs = new Map(names.map((name) => [name, `gradient/${name}`]));
    gradients(total, [...weights.values()]).forEach((value, index) =>
      graph.output(`gradient/${names[index]}`, value),
    );
    return new GradientSession(await Session.create(graph, { spinning: false }), outputs);
  }

  /** Adds the gradients to `sums` and returns the graph's own outputs. */
  async run(
    feeds: Readonly<Record<string, Tensor>>,
    sums: Map<string, Float32Array>,
  ): Promise<Record<string, Tensor>> {
    const needed = Object.fromEntries(this.session.inputNames.map((name) => [name, feeds[name]]));
    const results = await this.session.run(needed);
    for (const [name, output] of this.outputs) {
      addTo(sums, name, results[output].data as Float32Array);
      delete results[output];
    }
    return results;
  }

  release(): Promise<void> {
    return this.session.release();
  }
}

function addTo(sums: Map<string, Float32Array>, name: string, values: Float32Array): void {
  const sum = sums.get(name);
  if (sum === undefined) sums.set(name, values);
  else for (let i = 0; i < values.length; i++) sum[i] += values[i];
}
