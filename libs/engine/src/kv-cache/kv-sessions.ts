import { freeTensors, Graph, ops, Session, tensor, type Tensor, type Value } from '@ui-rl/graph';
import type { Feeds } from '../feeds';
import { memoize } from '../memoize';
import type { KvCacheShape, KvNames } from './kv-cache';

/** Rows on a device: tensors [rows, kvHeads, capacity, headDim] by the names of session inputs. */
export interface HeldRows {
  tensors: Feeds;
  rows: number;
  capacity: number;
}

/** Target of one pass row's tokens: how many, the row, and the first position. */
export interface HeldSpan {
  row: number;
  position: number;
  tokens: number;
}

/**
 * Declares the inputs that all layers share and returns the computation of a layer; unused inputs are not declared.
 */
type Build = (graph: Graph) => (past: () => Value, added: () => Value) => Value;

/**
 * Operations on the caches of all layers on a device. Each is a graph that returns new tensors, because a session
 * cannot write results into its inputs' memory there: per token that takes about as long as attention takes to read
 * the cache. Operations that replace held rows free them and the additions; `copy`, `cut`, `begin` and `write` leave
 * tensors that they only read to their owner.
 */
export class KvSessions {
  private readonly sessions = new Map<string, Promise<Session>>();

  constructor(
    private readonly names: readonly KvNames[],
    private readonly shape: Pick<KvCacheShape, 'kvHeads' | 'headDim'>,
  ) {}

  /** These rows of the held ones, with capacity for this many tokens. */
  async arrange(held: HeldRows, order: readonly number[], capacity: number): Promise<HeldRows> {
    const session = await this.session('arrange', (graph) => {
      const [rows, length] = [graph.input('order', 'int64', ['N']), graph.input('capacity', 'int64', [1])];
      return (past) => ops.padEnd(ops.gather(past(), rows, 0), 2, length, 'D');
    });
    const feeds = { order: tensor('int64', [...order]), capacity: tensor('int64', [capacity]) };
    return this.replace(session, held, {}, feeds, { rows: order.length, capacity });
  }

  /** Copies of some held rows. */
  async copy(held: HeldRows, rows: readonly number[]): Promise<HeldRows> {
    const session = await this.session('copy', (graph) => {
      const order = graph.input('order', 'int64', ['N']);
      return (past) => ops.gather(past(), order, 0);
    });
    const tensors = await this.run(session, { ...held.tensors, order: tensor('int64', [...rows]) });
    return { tensors, rows: rows.length, capacity: held.capacity };
  }

  /** Tokens of a row, [1, kvHeads, to - from, headDim]. */
  async cut(held: HeldRows, row: number, from: number, to: number): Promise<Feeds> {
    const session = await this.session('cut', (graph) => {
      const order = graph.input('order', 'int64', [1]);
      const [start, end] = [graph.input('start', 'int64', [1]), graph.input('end', 'int64', [1])];
      return (past) => ops.sliceAt(ops.gather(past(), order, 0), 2, start, end, 'D');
    });
    const bounds = {
      order: tensor('int64', [row]),
      start: tensor('int64', [from]),
      end: tensor('int64', [to]),
    };
    return this.run(session, { ...held.tensors, ...bounds });
  }

  /** A row from its first tokens, with free capacity after them. */
  async begin(added: Feeds, capacity: number): Promise<HeldRows> {
    const session = await this.beginning();
    return {
      tensors: await this.run(session, { ...added, capacity: tensor('int64', [capacity]) }),
      rows: 1,
      capacity,
    };
  }

  /** Writes tokens of each row of a pass to their positions in the held rows; frees the latter. */
  async write(held: HeldRows, added: Feeds, spans: readonly HeldSpan[]): Promise<HeldRows> {
    const { kvHeads, headDim } = this.shape;
    const session = await this.session('write', (graph) => {
      const source = graph.input('source', 'int64', ['B', 'C']);
      const isNew = ops.greater(graph.input('is_new', 'float32', ['B', 1, 'C', 1]), 0.5);
      return (past, value) => {
        const tokens = ops.reshape(ops.transpose(value(), [0, 2, 1, 3]), ['N*T', kvHeads * headDim]);
        const moved = ops.reshape(ops.gather(tokens, source, 0), ['B', 'C', kvHeads, headDim]);
        return ops.where(isNew, ops.transpose(moved, [0, 2, 1, 3]), past());
      };
    });
    const { rows, capacity } = held;
    const length = Object.values(added)[0].dims[2];
    const source = new BigInt64Array(rows * capacity);
    const isNew = new Float32Array(rows * capacity);
    spans.forEach(({ row, position, tokens }, index) => {
      for (let token = 0; token < tokens; token += 1) {
        const slot = row * capacity + position + token;
        source[slot] = BigInt(index * length + token);
        isNew[slot] = 1;
      }
    });
    const feeds = {
      source: tensor('int64', source, [rows, capacity]),
      is_new: tensor('float32', isNew, [rows, 1, capacity, 1]),
    };
    return this.replace(session, held, {}, { ...added, ...feeds }, { rows, capacity });
  }

  /** Appends the rows of a pass to the held ones; each row of the pass has T tokens, at most the capacity. */
  async append(held: HeldRows | undefined, added: Feeds, rows: number, capacity: number): Promise<HeldRows> {
    const session = await (held === undefined
      ? this.beginning()
      : this.session('append', (graph) => {
          const length = graph.input('capacity', 'int64', [1]);
          return (past, value) => ops.concat([past(), ops.padEnd(value(), 2, length, 'C')], 0);
        }));
    const feeds = { capacity: tensor('int64', [capacity]) };
    return this.replace(session, held, added, feeds, { rows: (held?.rows ?? 0) + rows, capacity });
  }

  private beginning(): Promise<Session> {
    return this.session('begin', (graph) => {
      const length = graph.input('capacity', 'int64', [1]);
      return (_, value) => ops.padEnd(value(), 2, length, 'C');
    });
  }

  /** Appends one token to every row, each at its position. */
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
    return this.replace(session, held, added, feeds, { rows, capacity });
  }

  async release(): Promise<void> {
    for (const session of this.sessions.values()) await (await session).release();
    this.sessions.clear();
  }

  /** Frees the held tensors and the additions. */
  private async replace(
    session: Session,
    held: HeldRows | undefined,
    added: Feeds,
    feeds: Feeds,
    size: Pick<HeldRows, 'rows' | 'capacity'>,
  ): Promise<HeldRows> {
    const tensors = await this.run(session, { ...held?.tensors, ...added, ...feeds }).catch(
      (error: unknown) => {
        freeTensors(Object.values(added));
        throw error;
      },
    );
    const read: Tensor[] = [...Object.values(held?.tensors ?? {}), ...Object.values(added)];
    freeTensors(read);
    return { tensors, ...size };
  }

  private async run(session: Session, all: Feeds): Promise<Feeds> {
    const inputs = Object.fromEntries(session.inputNames.map((name) => [name, all[name]]));
    const outputs = await session.run(inputs);
    return Object.fromEntries(this.names.map(({ past }) => [past, outputs[nextName(past)]]));
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
      // With the cache's number of rows, or with another number when rows are appended.
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
