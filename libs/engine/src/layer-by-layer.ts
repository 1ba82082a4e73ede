import type { PolicyLoss } from '@ui-rl/algorithms';
import { evaluateDim, extentsOf, keptName, type FeedDType, type Value } from '@ui-rl/graph';
import { LayerSessions, type PassGraph } from './layer-sessions';
import { keptFeeds, runBackward, runHead, type PassState } from './layer-backward';
import type { AccumulatedGradients } from './accumulated-gradients';
import type { Feeds, PassResult, PassRunner } from './pass-runner';
import { TensorPool } from './tensor-pool';
import { buildLossGraph, buildScoringGraph, type ImageMode } from './trainer-graph';
import { pick, type RunnerOptions } from './whole-graph';

/** Logits that are in memory at once: 128 MiB of float32. */
const HEAD_LOGITS = 32 * 1024 * 1024;

/**
 * Passes layer by layer, for models whose activations do not fit into memory: the forward pass keeps what goes from one
 * layer to the next, the backward pass computes each layer's activations again (gradient checkpointing, arXiv:1604.06174).
 * Memory stays near the size of the weights, at the cost of a second forward pass.
 */
export class LayerByLayer implements PassRunner {
  private readonly passes = new Map<string, LayerSessions>();
  private readonly pool = new TensorPool();

  constructor(
    private readonly options: RunnerOptions,
    private readonly headLogits = HEAD_LOGITS,
  ) {}

  async train(
    mode: ImageMode,
    loss: PolicyLoss,
    feeds: Feeds,
    accumulated: AccumulatedGradients,
  ): Promise<PassResult> {
    const sessions = this.sessionsOf(`${mode} ${JSON.stringify(loss)}`, () => {
      const { family, parameters } = this.options;
      const { graph, trained, ...results } = buildLossGraph(family, parameters(), mode, loss, 'blocks');
      return { graph, trained, results: new Map(Object.entries(results)) };
    });
    const state = this.begin(sessions, feeds, accumulated);
    await this.forward(state);
    const result = await runHead(state, 'backward');
    await runBackward(state);
    return result;
  }

  async score(mode: ImageMode, feeds: Feeds): Promise<Float32Array> {
    const sessions = this.sessionsOf(mode, () => {
      const { family, parameters } = this.options;
      const { graph, logp } = buildScoringGraph(family, parameters(), mode, 'blocks');
      return { graph, trained: new Map(), results: new Map([['logp', logp]]) };
    });
    const state = this.begin(sessions, feeds, undefined);
    await this.forward(state);
    const { logp } = await runHead(state, 'forward');
    for (const value of state.kept.keys()) state.drop(value);
    return logp;
  }

  async release(): Promise<void> {
    for (const sessions of this.passes.values()) await sessions.release();
    this.passes.clear();
    this.pool.clear();
  }

  private sessionsOf(key: string, build: () => PassGraph): LayerSessions {
    let sessions = this.passes.get(key);
    if (sessions === undefined) {
      const { session, memory } = this.options;
      sessions = new LayerSessions(build(), { ...session, arena: false }, memory.location);
      this.passes.set(key, sessions);
    }
    return sessions;
  }

  private begin(
    sessions: LayerSessions,
    feeds: Feeds,
    accumulated: AccumulatedGradients | undefined,
  ): PassState {
    const { pool } = this;
    const extents = extentsOf(sessions.plan.graph.inputs, feeds);
    const kept: PassState['kept'] = new Map();
    return {
      sessions,
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

  /** All segments but the last, which is the head. */
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
