import {
  keptGradientName,
  keptName,
  keptAccumulatedName,
  tensor,
  type Segment,
  type Session,
  type Tensor,
  type Value,
} from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { EngineError } from '../errors';
import type { AccumulatedGradients } from '../training/accumulated-gradients';
import type { BackwardSession, LayerSessions } from './layer-sessions';
import { TRAINED_TOKENS } from './objective';
import { numberOf, type PassResult } from './runner';

/** A pass in progress. */
export interface PassState {
  sessions: LayerSessions;
  /** name of a metric → name of the result with its sum */
  metrics: ReadonlyMap<string, string>;
  /** maximum number of logits in memory at once */
  headLogits: number;
  feeds: Feeds;
  /** accumulated gradients of trained weights; undefined if nothing is trained */
  accumulated: AccumulatedGradients | undefined;
  /** values that segments pass to later ones */
  kept: Map<Value, Tensor>;
  /** derivatives of the loss by kept values */
  gradients: Map<Value, Tensor>;
  /** Runs a segment with the feeds that it declares, then yields the device. */
  run(session: Session, feeds: Feeds, fetches?: Record<string, Tensor | null>): Promise<Feeds>;
  /** memory for a value of this pass */
  take(value: Value): Tensor;
  give(used: Tensor): void;
  /** releases a kept value */
  drop(value: Value): void;
}

/**
 * Runs the last segment, from hidden states to scores and, with `backward`, the objective and its derivatives.
 * Processes trained tokens in chunks whose logits fit into memory, which works because the objective is a sum over
 * tokens.
 */
export async function runHead(state: PassState, direction: 'forward' | 'backward'): Promise<PassResult> {
  const { sessions, feeds } = state;
  const segment = sessions.plan.segments.at(-1)!;
  const backward = direction === 'backward' ? await sessions.backward(segment) : undefined;
  const session = backward?.session ?? (await sessions.forward(segment));
  const perToken = tokenInputs(sessions, segment);
  const all: Feeds = { ...feeds, ...keptFeeds(state, segment) };
  const count = all[perToken[0]].dims[0];
  const gives = (backward?.segment.gives ?? []).map(({ value }) => value);
  for (const value of gives) state.gradients.set(value, state.take(value));
  const metrics: Record<string, number> = {};
  const result: PassResult = { loss: 0, scores: new Float32Array(count), metrics };
  const step = Math.max(1, Math.floor(state.headLogits / widestOf(segment)));
  for (let from = 0; from < count; from += step) {
    const to = Math.min(from + step, count);
    const cut = Object.fromEntries(perToken.map((name) => [name, rows(all[name], from, to)]));
    const accumulated = accumulatedFeeds(state, backward);
    const outputs = await state.run(session, { ...all, ...accumulated, ...cut });
    result.scores.set(outputs.scores.data as Float32Array, from);
    if (outputs.entropy !== undefined) {
      result.entropy ??= new Float32Array(count);
      result.entropy.set(outputs.entropy.data as Float32Array, from);
    }
    if (backward === undefined) continue;
    result.loss += numberOf(outputs.total);
    for (const [name, output] of state.metrics) {
      metrics[name] = (metrics[name] ?? 0) + numberOf(outputs[output]);
    }
    for (const value of gives) {
      const into = rows(state.gradients.get(value)!, from, to);
      (into.data as Float32Array).set(outputs[keptGradientName(value)].data as Float32Array);
    }
    takeAccumulated(state, backward, outputs);
  }
  return result;
}

/** Runs the backward passes of all segments but the last, in reverse. */
export async function runBackward(state: PassState): Promise<void> {
  const { sessions, feeds, gradients } = state;
  for (const segment of sessions.plan.segments.slice(0, -1).toReversed()) {
    const backward = await sessions.backward(segment);
    if (backward !== undefined) {
      const { session, segment: built } = backward;
      const takes = built.takes.map((value): [string, Tensor] => [
        keptGradientName(value),
        gradients.get(value)!,
      ]);
      const added = built.gives.filter((each) => each.added).map(({ value }) => value);
      const inputs: Feeds = {
        ...feeds,
        ...keptFeeds(state, segment),
        ...Object.fromEntries(takes),
        ...Object.fromEntries(added.map((value) => [keptAccumulatedName(value), gradients.get(value)!])),
        ...accumulatedFeeds(state, backward),
      };
      const fetches: Record<string, Tensor | null> = {};
      for (const value of built.trained) fetches[keptGradientName(value)] = null;
      for (const { value } of built.gives) fetches[keptGradientName(value)] = state.take(value);
      const outputs = await state.run(session, inputs, fetches);
      takeAccumulated(state, backward, outputs);
      for (const { value } of built.gives) {
        const before = gradients.get(value);
        if (before !== undefined) state.give(before);
        gradients.set(value, outputs[keptGradientName(value)]);
      }
    }
    for (const value of segment.writes) {
      const gradient = gradients.get(value);
      if (gradient !== undefined) state.give(gradient);
      gradients.delete(value);
      state.drop(value);
    }
  }
}

/** A segment's inputs from earlier segments, by name. */
export function keptFeeds({ kept }: PassState, segment: Segment): Feeds {
  return Object.fromEntries(segment.reads.map((value) => [keptName(value), kept.get(value)!]));
}

/** Inputs of a segment with one row per trained token. */
function tokenInputs({ plan }: LayerSessions, segment: Segment): string[] {
  const isPerToken = ({ shape }: Value): boolean => shape[0] === TRAINED_TOKENS;
  // All of them: values that are derived from them without weights, such as target indices, belong to no segment.
  const fed = plan.graph.inputs.filter(isPerToken);
  const names = [...fed.map(({ name }) => name), ...segment.reads.filter(isPerToken).map(keptName)];
  if (names.length > 0 && segment.reads.every(isPerToken)) return names;
  throw new EngineError(
    'worker',
    `the last part of graph "${plan.graph.name}" has no rows of trained tokens alone: ${segment.reads
      .map(({ name, shape }) => `${name} [${shape.join(', ')}]`)
      .join(', ')}`,
  );
}

/** Width of the largest result per trained token: the vocabulary, if there is an output layer. */
function widestOf(segment: Segment): number {
  const widths = segment.nodes
    .flatMap(({ outputs }) => outputs)
    .filter(({ shape }) => shape.length === 2 && shape[0] === TRAINED_TOKENS)
    .flatMap(({ shape }) => (typeof shape[1] === 'number' ? [shape[1]] : []));
  return Math.max(1, ...widths);
}

/** A view of rows `from` to `to` of a tensor. */
function rows(whole: Tensor, from: number, to: number): Tensor {
  const [, ...rest] = whole.dims;
  const width = rest.reduce((a, b) => a * b, 1);
  const data = (whole.data as Float32Array).subarray(from * width, to * width);
  return tensor(whole.type as 'float32', data, [to - from, ...rest]);
}

function accumulatedFeeds({ accumulated }: PassState, backward: BackwardSession | undefined): Feeds {
  const trained = backward?.segment.trained ?? [];
  return Object.fromEntries(
    trained.map((value) => [keptAccumulatedName(value), accumulated!.get(value.name)]),
  );
}

function takeAccumulated({ accumulated }: PassState, { segment }: BackwardSession, outputs: Feeds): void {
  for (const value of segment.trained) accumulated!.replace(value.name, outputs[keptGradientName(value)]);
}
