import {
  backwardSegment,
  forwardSegment,
  keptGradientName,
  planSegments,
  Session,
  type BackwardSegment,
  type Graph,
  type Segment,
  type SegmentPlan,
  type SessionOptions,
  type TensorLocation,
  type Value,
} from '@ui-rl/graph';
import { memoize } from '../memoize';

/** A pass that runs by layers. */
export interface PassGraph {
  graph: Graph;
  /** by output name; values of one element each, except scores and entropies */
  results: ReadonlyMap<string, Value>;
  /** the value to differentiate, one of the results; undefined if nothing is trained */
  total?: Value;
  trained: ReadonlyMap<string, Value>;
}

/** The backward pass of a layer, ready to run. */
export interface BackwardSession {
  session: Session;
  segment: BackwardSegment;
}

/** The sessions of a graph's segments, created on first use; over mapped weights that takes milliseconds. */
export class LayerSessions {
  readonly plan: SegmentPlan;
  private readonly forwards = new Map<number, Promise<Session>>();
  private readonly backwards = new Map<number, Promise<BackwardSession | undefined>>();
  private readonly resultNames: ReadonlyMap<Value, string>;

  constructor(
    private readonly pass: PassGraph,
    private readonly options: SessionOptions,
    /** location of weight gradients */
    private readonly gradients: TensorLocation,
  ) {
    this.plan = planSegments(pass.graph, [...pass.results.values()]);
    this.resultNames = new Map([...pass.results].map(([name, value]) => [value, name]));
  }

  forward(segment: Segment): Promise<Session> {
    return memoize(this.forwards, segment.index, () =>
      Session.create(forwardSegment(this.plan, segment, this.resultNames), this.options),
    );
  }

  /** Undefined if nothing in the segment or before it is trained. */
  backward(segment: Segment): Promise<BackwardSession | undefined> {
    return memoize(this.backwards, segment.index, async () => {
      const built = backwardSegment(this.plan, segment, {
        loss: this.pass.total!,
        trained: new Set(this.pass.trained.values()),
        resultNames: this.resultNames,
      });
      if (built === undefined) return undefined;
      const outputLocation = Object.fromEntries(
        built.trained.map((value) => [keptGradientName(value), this.gradients]),
      );
      return {
        segment: built,
        session: await Session.create(built.graph, { ...this.options, outputLocation }),
      };
    });
  }

  async release(): Promise<void> {
    for (const session of this.forwards.values()) await (await session).release();
    for (const backward of this.backwards.values()) await (await backward)?.session.release();
    this.forwards.clear();
    this.backwards.clear();
  }
}
