import { Graph, gradients, Session, tensor, type SessionOptions, type Value } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { TRAINED_TOKENS, weighted, type Loss } from './objective';
import { numberOf, pick, type PassResult } from './runner';

/** A loss and its derivatives by the model's outputs for the trained tokens. */
export interface LossDerivatives extends Pick<PassResult, 'loss' | 'metrics'> {
  /** [M] */
  byLogprob: Float32Array;
  /** [M]; undefined if the loss does not read entropies */
  byEntropy: Float32Array | undefined;
}

const INPUTS = { logprobs: 'logprobs', entropy: 'entropy' } as const;
const RESULTS = { total: 'total', byLogprob: 'by logprob', byEntropy: 'by entropy' } as const;

/** A loss over all tokens of a pass, separate from the model: for passes that compute log-probabilities in chunks. */
export class LossSession {
  private constructor(
    private readonly session: Session,
    private readonly metrics: ReadonlyMap<string, string>,
    readonly readsEntropy: boolean,
  ) {}

  static async create(loss: Loss, options: SessionOptions): Promise<LossSession> {
    const graph = new Graph(`loss ${loss.name}`);
    const logprobs = graph.input(INPUTS.logprobs, 'float32', [TRAINED_TOKENS]);
    let entropy: Value | undefined;
    const { total, metrics } = weighted(loss).build(graph, {
      role: 'policy',
      logprobs,
      entropy: () => (entropy ??= graph.input(INPUTS.entropy, 'float32', [TRAINED_TOKENS])),
    });
    graph.output(RESULTS.total, total);
    const outputs = new Map<string, string>();
    for (const [name, value] of metrics) {
      outputs.set(name, `metric ${name}`);
      graph.output(`metric ${name}`, value);
    }
    const [byLogprob, byEntropy] = gradients(total, entropy === undefined ? [logprobs] : [logprobs, entropy]);
    graph.output(RESULTS.byLogprob, byLogprob);
    if (byEntropy !== undefined) graph.output(RESULTS.byEntropy, byEntropy);
    return new LossSession(await Session.create(graph, options), outputs, entropy !== undefined);
  }

  /** @param feeds further inputs of the loss */
  async run(
    { logprobs, entropy }: { logprobs: Float32Array; entropy: Float32Array },
    feeds: Feeds,
  ): Promise<LossDerivatives> {
    const all = {
      ...feeds,
      [INPUTS.logprobs]: tensor('float32', logprobs),
      [INPUTS.entropy]: tensor('float32', entropy),
    };
    const outputs = await this.session.run(pick(all, this.session.inputNames));
    return {
      loss: numberOf(outputs[RESULTS.total]),
      metrics: Object.fromEntries(
        Array.from(this.metrics, ([name, output]) => [name, numberOf(outputs[output])]),
      ),
      byLogprob: outputs[RESULTS.byLogprob].data as Float32Array,
      byEntropy: outputs[RESULTS.byEntropy]?.data as Float32Array | undefined,
    };
  }

  release(): Promise<void> {
    return this.session.release();
  }
}
