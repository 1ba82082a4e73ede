import { freeTensors, Graph, ops, Session, tensor, type Tensor, type Value } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { memoize } from '../memoize';
import type { KvCacheShape, KvNames } from './kv-cache';

/** Rows on a device: tensors [rows, kvHeads, capacity, headDim] by the names under which sessions read them. */
export interface HeldRows {
  tensors: Feeds;
  rows: number;
  capacity: number;
}

/** Declares the inputs that all layers share, and says what becomes of a layer's; those it does not ask for are no inputs. */
type Build = (graph: Graph) => (past: () => Value, added: () => Value) => Value;

/**
 * What is done to the caches of all layers on a device. Each is a graph that gives new tensors and frees those it read, since a
 * session's results cannot lie in the memory of its inputs there: per token that takes about as long as attention takes to
 * read the cache.
 */
export class KvSessions {
  private readonly sessions = new Map<string, Promise<Session>>();

  constructor(
    private readonly names: readonly KvNames[],
    private readonly shape: Pick<KvCacheShape, 'kvHeads' | 'headDim'>,
  ) {}

  /** These rows of the held ones, with capacity for so many tokens. */
  async arrange(held: HeldRows, order: readonly number[], capacity: number): Promise<HeldRows> {
    const session = await this.session('arrange', (graph) => {
      const [rows, length] = [graph.input('order', 'int64', ['N']), graph.input('capacity', 'int64', [1])];
      return (past) => ops.padEnd(ops.gather(past(), rows, 0), 2, length, 'D');
    });
    const feeds = { order: tensor('int64', [...order]), capacity: tensor('int64', [capacity]) };
    return this.run(session, held, {}, feeds, { rows: order.length, capacity });
  }

  /** The rows of a pass below those that are held; each row of the pass has T tokens, at most the capacity. */
  async append(held: HeldRows | undefined, added: Feeds, rows: number, capacity: number): Promise<HeldRows> {
    const session = await this.session(held === undefined ? 'begin' : 'append', (graph) => {
      const length = graph.input('capacity', 'int64', [1]);
      return (past, value) => {
        const padded = ops.padEnd(value(), 2, length, 'C');
        return held === undefined ? padded : ops.concat([past(), padded], 0);
      };
    });
    const feeds = { capacity: tensor('int64', [capacity]) };
    return this.run(session, held, added, feeds, { rows: (held?.rows ?? 0) + rows, capacity });
  }

  /** One more token in every row, each at its position. */
  async extend(held: HeldRows, added: Feeds, positions: readonly number[]): Promise<HeldRows> {
    const { rows, capacity } = held;
    const session = await this.session('extend', (graph) => {
      const at = graph.input('positions', 'float32', ['B', 1, 1, 1]);
      const isHere = ops.equal(at, graph.input('slots', 'float32', ['C', 1]));
      return (past, value) => ops.where(isHere, value(), past());
    });
    const order = Array.from({ length: capacity }, (_, slot) => slot);
    const feeds = {
      positions: tensor('float32', [...positions], [rows, 1, 1, 1]),
      slots: tensor('float32', order, [capacity, 1]),
    };
    return this.run(session, held, added, feeds, { rows, capacity });
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }

  private async run(
    session: Session,
    held: HeldRows | undefined,
    added: Feeds,
    feeds: Feeds,
    size: Pick<HeldRows, 'rows' | 'capacity'>,
  ): Promise<HeldRows> {
    const all: Feeds = { ...held?.tensors, ...added, ...feeds };
    const inputs = Object.fromEntries(session.inputNames.map((name) => [name, all[name]]));
    const outputs = await session.run(inputs).catch((error: unknown) => {
      freeTensors(Object.values(added));
      throw error;
    });
    const read: Tensor[] = [...Object.values(held?.tensors ?? {}), ...Object.values(added)];
    freeTensors(read);
    const tensors = this.names.map(({ past }) => [past, outputs[nextName(past)]] as const);
    return { tensors: Object.fromEntries(tensors), ...size };
  }

  private session(kind: string, build: Build): Promise<Session> {
    return memoize(this.sessions, kind, () => this.prepare(kind, build));
  }

  private prepare(kind: string, build: Build): Promise<Session> {
    const { kvHeads, headDim } = this.shape;
    const graph = new Graph(`${kind} cache`);
    const layer = build(graph);
    for (const { past, added } of this.names) {
      const before = (): Value => graph.input(past, 'float32', ['B', kvHeads, 'C', headDim]);
      // Of as many rows as the cache has, or of others that go below them.
      const value = (): Value =>
        graph.input(added, 'float32', [
          kind === 'extend' ? 'B' : 'N',
          kvHeads,
          kind === 'extend' ? 1 : 'T',
          headDim,
        ]);
      graph.output(nextName(past), layer(before, value));
    }
    return Session.create(graph, { device: 'webgpu', outputLocation: 'gpu-buffer' });
  }
}

function nextName(past: string): string {
  return `next.${past}`;
}
