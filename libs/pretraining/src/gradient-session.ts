import {
  type Device,
  deviceMemory,
  type DeviceMemory,
  freeTensors,
  gradients,
  type Graph,
  ops,
  Session,
  tensor,
  type Tensor,
  type Value,
} from '@ui-rl/graph';

/** Sums of gradients by weight, in the memory of the device. */
export type GradientSums = Map<string, Tensor>;

interface Ports {
  before: string;
  after: string;
  zero: Tensor;
}

/** A loss graph that also adds the gradient of each weight to a sum. */
export class GradientSession {
  private constructor(
    private readonly session: Session,
    /** By weight. */
    private readonly ports: ReadonlyMap<string, Ports>,
    private readonly memory: DeviceMemory,
  ) {}

  /** @param weights graph inputs by name; other outputs of the graph are results of `run` */
  static async create(
    graph: Graph,
    total: Value,
    weights: ReadonlyMap<string, Value>,
    device: Device,
  ): Promise<GradientSession> {
    const memory = deviceMemory(device);
    const values = gradients(total, [...weights.values()]);
    const zeros: Record<string, Tensor> = {};
    const outputLocation: Record<string, DeviceMemory['location']> = {};
    [...weights.keys()].forEach((name, index) => {
      const shape = values[index].shape.map(Number);
      const before = graph.input(`sum/${name}`, 'float32', shape);
      graph.output(`gradient/${name}`, ops.add(before, values[index]));
      outputLocation[`gradient/${name}`] = memory.location;
      zeros[name] = tensor('float32', new Float32Array(shape.reduce((a, b) => a * b, 1)), shape);
    });
    const uploaded = Object.entries(await memory.upload(zeros));
    const session = await Session.create(graph, { device, spinning: false, outputLocation });
    const ports = uploaded.map(([name, zero]): [string, Ports] => [
      name,
      { before: `sum/${name}`, after: `gradient/${name}`, zero },
    ]);
    return new GradientSession(session, new Map(ports), memory);
  }

  /** Adds the gradients to `sums`, which may be empty, and returns the graph's own outputs. */
  async run(feeds: Readonly<Record<string, Tensor>>, sums: GradientSums): Promise<Record<string, Tensor>> {
    const before = Object.fromEntries(
      Array.from(this.ports, ([name, ports]) => [ports.before, sums.get(name) ?? ports.zero]),
    );
    const all = { ...feeds, ...before };
    const results = await this.session.run(
      Object.fromEntries(this.session.inputNames.map((name) => [name, all[name]])),
    );
    freeTensors(sums.values());
    for (const [name, { after }] of this.ports) {
      sums.set(name, results[after]);
      delete results[after];
    }
    return results;
  }

  async release(): Promise<void> {
    freeTensors(Array.from(this.ports.values(), ({ zero }) => zero));
    await this.memory.release();
    await this.session.release();
  }
}
