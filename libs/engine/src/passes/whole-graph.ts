import { Session, type Tensor } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { memoize } from '../memoize';
import { Recent } from '../recent';
import type { AccumulatedGradients } from '../training/accumulated-gradients';
import {
  buildScoringGraph,
  buildTrainingGraph,
  type GraphParts,
  type PassMode,
  type TrainingGraph,
} from './graphs';
import { weighted, type Loss } from './objective';
import { numberOf, pick, type PassResult, type PassRunner, type RunnerOptions } from './runner';

/**
 * Number of losses with their options, by kind of pass, whose sessions are kept. A run has a few; clients of a server
 * may request any number, and each is a graph of the whole model.
 */
const MOST_TRAINING = 12;

type TrainingSession = Omit<TrainingGraph, 'graph'> & { session: Session };

/** Runs each pass as one graph: fastest while all activations fit into memory. Sessions are created on first use. */
export class WholeGraph implements PassRunner {
  private readonly training = new Recent<TrainingSession>(MOST_TRAINING, ({ session }) => session.release());
  private readonly scoring = new Map<PassMode, Promise<Session>>();

  constructor(private readonly options: RunnerOptions) {}

  async train(
    mode: PassMode,
    loss: Loss,
    feeds: Feeds,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult> {
    const { session, gradients, metrics } = await this.trainingSession(mode, loss);
    const before: Record<string, Tensor> = {};
    for (const port of gradients) before[port.before] = accumulated.get(port.weight);
    const outputs = await this.run(session, { ...feeds, ...before });
    for (const { weight, after } of gradients) accumulated.replace(weight, outputs[after]);
    return {
      loss: numberOf(outputs.total),
      scores: outputs.scores.data as Float32Array,
      entropy: outputs.entropy?.data as Float32Array | undefined,
      metrics: Object.fromEntries(Array.from(metrics, ([name, output]) => [name, numberOf(outputs[output])])),
    };
  }

  async score(mode: PassMode, feeds: Feeds): Promise<Float32Array> {
    const session = await memoize(this.scoring, mode, () => this.prepareScoring(mode));
    return (await this.run(session, feeds)).scores.data as Float32Array;
  }

  async release(): Promise<void> {
    await this.training.release();
    for (const session of this.scoring.values()) await (await session).release();
    this.scoring.clear();
  }

  private async run(session: Session, feeds: Feeds): Promise<Feeds> {
    const began = performance.now();
    const outputs = await session.run(pick(feeds, session.inputNames));
    await this.options.pause(performance.now() - began);
    return outputs;
  }

  private parts(mode: PassMode): GraphParts {
    const { role, family, parameters } = this.options;
    return { role, family, parameters: parameters(), mode };
  }

  private trainingSession(mode: PassMode, loss: Loss): Promise<TrainingSession> {
    return this.training.get(`${mode} ${loss.key}`, () => this.prepareTraining(mode, loss));
  }

  private prepareScoring(mode: PassMode): Promise<Session> {
    const { graph, scores } = buildScoringGraph(this.parts(mode));
    graph.output('scores', scores);
    return Session.create(graph, this.options.session);
  }

  private async prepareTraining(mode: PassMode, loss: Loss): Promise<TrainingSession> {
    const { memory, session } = this.options;
    const { graph, gradients, metrics } = buildTrainingGraph(this.parts(mode), weighted(loss));
    const outputLocation = Object.fromEntries(gradients.map(({ after }) => [after, memory.location]));
    return { session: await Session.create(graph, { ...session, outputLocation }), gradients, metrics };
  }
}
