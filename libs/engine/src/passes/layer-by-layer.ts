import {
  evaluateDim,
  extentsOf,
  keptName,
  tensor,
  type FeedDType,
  type Tensor,
  type Value,
} from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { Recent } from '../recent';
import type { AccumulatedGradients } from '../training/accumulated-gradients';
import { layerAttention } from './attention-kind';
import { buildObjectiveGraph, buildScoringGraph, imagesOf, type GraphParts, type PassMode } from './graphs';
import { keptFeeds, runBackward, runHead, type PassState } from './layer-backward';
import { LayerSessions, type PassGraph } from './layer-sessions';
import { LossSession } from './loss-session';
import { linear, OBJECTIVE_INPUTS, weighted, type Loss, type Objective } from './objective';
import { pick, type PassResult, type PassRunner, type RunnerOptions } from './runner';
import { TensorPool } from './tensor-pool';

/** Logits in memory at once: 128 MiB of float32. */
export const HEAD_LOGITS = 32 * 1024 * 1024;

/** Number of passes and losses with their options whose sessions are kept, see `WholeGraph`. */
const MOST_PASSES = 16;

/** The sessions of a pass, and the metrics of its loss. */
interface Prepared {
  sessions: LayerSessions;
  metrics: ReadonlyMap<string, string>;
}

/**
 * Runs passes layer by layer, for models whose activations do not fit into memory: the forward pass keeps the values
 * between layers, and the backward pass recomputes each layer's activations (gradient checkpointing,
 * arXiv:1604.06174). Memory stays near the size of the weights, at the cost of a second forward pass.
 */
export class LayerByLayer implements PassRunner {
  private readonly passes = new Recent<Prepared>(MOST_PASSES, ({ sessions }) => sessions.release());
  private readonly losses = new Recent<LossSession>(MOST_PASSES, (session) => session.release());
  private readonly pool = new TensorPool();

  constructor(
    private readonly options: RunnerOptions,
    private readonly headLogits = HEAD_LOGITS,
  ) {}

  train(mode: PassMode, loss: Loss, feeds: Feeds, accumulated: AccumulatedGradients): Promise<PassResult> {
    return loss.scope === 'token'
      ? this.trainTokens(mode, loss, feeds, accumulated)
      : this.trainSequences(mode, loss, feeds, accumulated);
  }

  /** The loss is a sum over tokens, so each chunk of the head computes its share. */
  private async trainTokens(
    mode: PassMode,
    loss: Loss,
    feeds: Feeds,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult> {
    const state = this.begin(await this.trainingSessions(mode, feeds, weighted(loss)), feeds, accumulated);
    await this.forward(state);
    const result = await runHead(state, 'backward');
    await runBackward(state);
    return result;
  }

  /**
   * The loss needs all tokens of a sequence: first their log-probabilities, chunk by chunk; then the loss and its
   * derivatives by those; then the backward pass of the model.
   */
  private async trainSequences(
    mode: PassMode,
    loss: Loss,
    feeds: Feeds,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult> {
    const session = await this.lossSession(loss);
    const prepared = await this.trainingSessions(mode, feeds, linear(session.readsEntropy));
    const count = feeds[OBJECTIVE_INPUTS.membership].dims[1];
    const zeros = new Float32Array(count);
    const state = this.begin(prepared, { ...feeds, ...derivativeFeeds(zeros, zeros) }, accumulated);
    await this.forward(state);
    const { scores, entropy } = await runHead(state, 'forward');
    const derivatives = await session.run({ logprobs: scores, entropy: entropy ?? zeros }, feeds);
    state.feeds = { ...feeds, ...derivativeFeeds(derivatives.byLogprob, derivatives.byEntropy ?? zeros) };
    await runHead(state, 'backward');
    await runBackward(state);
    return { loss: derivatives.loss, metrics: derivatives.metrics, scores, entropy };
  }

  async score(mode: PassMode, feeds: Feeds): Promise<Float32Array> {
    const parts = this.parts(mode, feeds);
    const prepared = await this.prepared(`${mode} ${parts.attention}`, () => {
      const { graph, scores } = buildScoringGraph(parts);
      return { pass: { graph, trained: new Map(), results: new Map([['scores', scores]]) } };
    });
    const state = this.begin(prepared, feeds, undefined);
    await this.forward(state);
    const { scores } = await runHead(state, 'forward');
    for (const value of state.kept.keys()) state.drop(value);
    return scores;
  }

  async release(): Promise<void> {
    await this.passes.release();
    await this.losses.release();
    this.pool.clear();
  }

  private parts(mode: PassMode, feeds: Feeds): GraphParts {
    const { role, family, parameters, memory } = this.options;
    const [rows, tokens] = feeds.token_ids.dims;
    // A vision tower in the graph reads more patches than there are tokens.
    const attention = imagesOf(mode) === 'patches' ? 'blocks' : layerAttention(rows, tokens, memory.location);
    return { role, family, parameters: parameters(), mode, attention };
  }

  private trainingSessions(mode: PassMode, feeds: Feeds, objective: Objective): Promise<Prepared> {
    const parts = this.parts(mode, feeds);
    return this.prepared(`${mode} ${parts.attention} ${objective.key}`, () => {
      const built = buildObjectiveGraph(parts, objective);
      const { graph, total, scores, entropy, trained } = built;
      const results = new Map(
        Object.entries({ total, scores, ...(entropy === undefined ? {} : { entropy }) }),
      );
      const metrics = new Map<string, string>();
      for (const [name, value] of built.metrics) {
        metrics.set(name, `metric ${name}`);
        results.set(`metric ${name}`, value);
      }
      return { pass: { graph, trained, results, total }, metrics };
    });
  }

  private prepared(
    key: string,
    build: () => { pass: PassGraph; metrics?: Map<string, string> },
  ): Promise<Prepared> {
    return this.passes.get(key, async () => {
      const { session, memory } = this.options;
      const { pass, metrics = new Map() } = build();
      return {
        sessions: new LayerSessions(pass, { ...session, arena: false }, memory.location),
        metrics,
      };
    });
  }

  private lossSession(loss: Loss): Promise<LossSession> {
    // It maps numbers per token to numbers per token, which are on the host.
    return this.losses.get(loss.key, () =>
      LossSession.create(loss, { ...this.options.session, device: 'cpu' }),
    );
  }

  private begin(
    { sessions, metrics }: Prepared,
    feeds: Feeds,
    accumulated: AccumulatedGradients | undefined,
  ): PassState {
    const { pool } = this;
    pool.begin();
    const extents = extentsOf(sessions.plan.graph.inputs, feeds);
    const kept: PassState['kept'] = new Map();
    return {
      sessions,
      metrics,
      headLogits: this.headLogits,
      feeds,
      accumulated,
      kept,
      gradients: new Map(),
      take: ({ dtype, shape }: Value) =>
        pool.take(
          dtype as FeedDType,
          shape.map((dim) => evaluateDim(dim, extents)),
        ),
      run: async (session, inputs, fetches) => {
        const began = performance.now();
        const outputs = await session.run(pick(inputs, session.inputNames), fetches);
        await this.options.pause(performance.now() - began);
        return outputs;
      },
      give: (used) => pool.give(used),
      drop: (value) => {
        const used = kept.get(value);
        if (used !== undefined) pool.give(used);
        kept.delete(value);
      },
    };
  }

  /** Runs all segments but the head. */
  private async forward(state: PassState): Promise<void> {
    const { sessions, feeds, kept } = state;
    for (const segment of sessions.plan.segments.slice(0, -1)) {
      const session = await sessions.forward(segment);
      const fetches = Object.fromEntries(segment.writes.map((value) => [keptName(value), state.take(value)]));
      const outputs = await state.run(session, { ...feeds, ...keptFeeds(state, segment) }, fetches);
      for (const value of segment.writes) kept.set(value, outputs[keptName(value)]);
    }
  }
}

function derivativeFeeds(byLogprob: Float32Array, byEntropy: Float32Array): Record<string, Tensor> {
  return {
    [OBJECTIVE_INPUTS.logprobDerivatives]: tensor('float32', byLogprob),
    [OBJECTIVE_INPUTS.entropyDerivatives]: tensor('float32', byEntropy),
  };
}
