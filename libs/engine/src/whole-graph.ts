import type { PolicyLoss } from '@ui-rl/algorithms';
import { Session, type DeviceMemory, type Graph, type SessionOptions, type Tensor } from '@ui-rl/graph';
import type { Family, ParameterSource } from '@ui-rl/models';
import type { AccumulatedGradients } from './accumulated-gradients';
import type { Feeds, PassResult, PassRunner, Pause } from './pass-runner';
import {
  buildScoringGraph,
  buildTrainingGraph,
  gradientName,
  accumulatedName,
  type ImageMode,
} from './trainer-graph';

export interface RunnerOptions {
  family: Family;
  /** A fresh source for each graph. */
  parameters: () => ParameterSource;
  session: SessionOptions;
  memory: DeviceMemory;
  pause: Pause;
}

interface PreparedSession {
  session: Session;
  /** trained weights that the graph reads */
  trained: string[];
}

/** Each pass as one run of one graph: fastest, while all activations fit into memory. Sessions are made when first needed. */
export class WholeGraph implements PassRunner {
  private readonly sessions = new Map<string, Promise<PreparedSession>>();

  constructor(private readonly options: RunnerOptions) {}

  async train(
    mode: ImageMode,
    loss: PolicyLoss,
    feeds: Feeds,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult> {
    const { family } = this.options;
    const { session, trained } = await this.sessionOf(`${mode} ${JSON.stringify(loss)}`, (parameters) =>
      buildTrainingGraph(family, parameters, mode, loss),
    );
    const before: Record<string, Tensor> = {};
    for (const name of trained) before[accumulatedName(name)] = accumulated.get(name);
    const outputs = await this.run(session, { ...feeds, ...before });
    for (const name of trained) accumulated.replace(name, outputs[gradientName(name)]);
    return {
      loss: Number(outputs.loss.data[0]),
      logp: outputs.logp.data as Float32Array,
      entropy: outputs.entropy.data as Float32Array,
    };
  }

  async score(mode: ImageMode, feeds: Feeds): Promise<Float32Array> {
    const { family } = this.options;
    const { session } = await this.sessionOf(mode, (parameters) => {
      const { graph, logp } = buildScoringGraph(family, parameters, mode);
      graph.output('logp', logp);
      return graph;
    });
    return (await this.run(session, feeds)).logp.data as Float32Array;
  }

  private async run(session: Session, feeds: Feeds): Promise<Feeds> {
    const began = performance.now();
    const outputs = await session.run(pick(feeds, session.inputNames));
    await this.options.pause(performance.now() - began);
    return outputs;
  }

  async release(): Promise<void> {
    for (const prepared of this.sessions.values()) await (await prepared).session.release();
    this.sessions.clear();
  }

  private sessionOf(key: string, build: (parameters: ParameterSource) => Graph): Promise<PreparedSession> {
    let prepared = this.sessions.get(key);
    if (prepared === undefined) {
      prepared = this.prepare(build);
      this.sessions.set(key, prepared);
    }
    return prepared;
  }

  private async prepare(build: (parameters: ParameterSource) => Graph): Promise<PreparedSession> {
    const parameters = this.options.parameters();
    const graph = build(parameters);
    const trained = [...parameters.inputs.keys()];
    const { location } = this.options.memory;
    const given = trained
      .map(gradientName)
      .filter((name) => graph.outputs.some((each) => each.name === name));
    const outputLocation = Object.fromEntries(given.map((name) => [name, location]));
    return { session: await Session.create(graph, { ...this.options.session, outputLocation }), trained };
  }
}

/** The feeds of these names. */
export function pick(feeds: Feeds, names: readonly string[]): Record<string, Tensor> {
  return Object.fromEntries(names.map((name) => [name, feeds[name]]));
}
