import { ops, vectorJacobianProducts, type Graph, type Rule, type Value } from '@ui-rl/graph';
import { unitLowerInverse } from './unit-lower-inverse';

/**
 * Tokens per chunk; the length of sequences must be a multiple of it. 64 is a seventh faster for thousands of tokens, but
 * pads sequences of a hundred by a third.
 */
export const DELTA_CHUNK = 32;
const excluded = -1e9;

/**
 * Inputs of the gated delta rule for T tokens. The number of key heads divides `heads`, because each serves several
 * value heads.
 */
export interface DeltaInputs {
  /** [B, T, keyHeads, dk] queries and keys of norm 1, the queries multiplied by 1/√dk */
  q: Value;
  k: Value;
  /** [B, T, heads, dv] */
  v: Value;
  /** [B, T, heads] logarithm of the state's decay at each token, at most 0 */
  decay: Value;
  /** [B, T, heads] share of the state's value at the key that is replaced, 0 to 1 */
  beta: Value;
}

/** Rows of which several sequences continue the same first tokens: for each chunk, bool [B, n]. */
export interface SharedStart {
  /** whether the chunk begins a sequence that continues the shared tokens */
  continues: Value;
  /** whether the chunk is the last one of shared tokens */
  ends: Value;
}

/**
 * The gated delta rule (arXiv:2412.06464, equation 10): with a state S [dk, dv] per head,
 * S ← exp(decay)·S, S ← S + k·(beta·(v - Sᵀk))ᵀ, output Sᵀq. In chunks of {@link DELTA_CHUNK} tokens (section 3.3):
 * everything within a chunk is computed for all chunks at once, and a loop passes the state from one to the next.
 * @param shared default: each row is one sequence
 * @returns [B, T, heads, dv]; the state is zero before the first token
 */
export function chunkedDelta({ q, k, v, decay, beta }: DeltaInputs, shared?: SharedStart): Value {
  const { graph } = v;
  const [B, T, heads, dv] = v.shape;
  return graph.scope('delta_rule', () => {
    const served = (heads as number) / (q.shape[2] as number);
    const [queries, keys] = [q, k].map((x) => inChunks(ops.repeatInterleave(x, served, 2)));
    const values = inChunks(v);
    const [decays, weights] = [decay, beta].map((x) => inChunks(ops.unsqueeze(x, [3])));
    const run = scan(withinChunks(queries, keys, values, decays, weights), shared && byChunk(shared));
    return ops.reshape(ops.transpose(run, [1, 0, 3, 2, 4]), [B, T, heads, dv]);
  });
}

/** [B, T, heads, d] → [n, B, heads, C, d] */
function inChunks(x: Value): Value {
  const [B, , heads, d] = x.shape;
  return ops.transpose(ops.reshape(x, [B, -1, DELTA_CHUNK, heads, d]), [1, 0, 3, 2, 4]);
}

/** [B, n] → [n, B, 1, 1, 1] */
function byChunk({ continues, ends }: SharedStart): SharedStart {
  const [c, e] = [continues, ends].map((x) => ops.unsqueeze(ops.transpose(x, [1, 0]), [2, 3, 4]));
  return { continues: c, ends: e };
}

/** The loop's inputs for each chunk, [n, B, heads, …] each. */
interface Chunks {
  /** [.., C, dv] the value that each token would write to an empty state */
  writes: Value;
  /** [.., C, dk] keys by which the state before the chunk is read for the writes */
  erasers: Value;
  /** [.., C, dk] queries by which it is read for the outputs */
  readers: Value;
  /** [.., C, dk] keys under which tokens write to the state after the chunk */
  keys: Value;
  /** [.., C, C] weight of each preceding token, and of itself, in a token's output */
  scores: Value;
  /** [.., 1, 1] decay of the state over the chunk */
  left: Value;
}

/** A constant [C, C] whose entry at row i, column j is `entry(i, j)`. */
function square(graph: Graph, entry: (row: number, column: number) => number): Value {
  const C = DELTA_CHUNK;
  const data = Float32Array.from({ length: C * C }, (_, at) => entry(Math.floor(at / C), at % C));
  return graph.constant('float32', [C, C], data);
}

function memoized(graph: Graph, key: string, build: () => Value): Value {
  const known = graph.memo.get(key) ?? build();
  graph.memo.set(key, known);
  return known;
}

function withinChunks(q: Value, k: Value, v: Value, decay: Value, beta: Value): Chunks {
  const { graph } = q;
  const C = DELTA_CHUNK;
  const upToHere = memoized(graph, 'delta:sum', () => square(graph, (i, j) => Number(j <= i)));
  const laterOnes = memoized(graph, 'delta:later', () => square(graph, (i, j) => (j > i ? excluded : 0)));
  const before = memoized(graph, 'delta:before', () => square(graph, (i, j) => Number(j < i)));
  // [.., C, 1]: logarithm of the cumulative decay from the start of the chunk to each token.
  const total = ops.matmul(upToHere, decay);
  const asRow = ops.reshape(total, [...total.shape.slice(0, -2), 1, C]);
  const between = ops.exp(ops.add(ops.sub(total, asRow), laterOnes));
  const last = ops.slice(total, 3, C - 1, C);
  const weighted = ops.mul(k, beta);
  const overlaps = ops.mul(ops.mul(ops.matmul(weighted, k, { transB: true }), between), before);
  const solved = unitLowerInverse(overlaps, C);
  const leftHere = ops.exp(total);
  return {
    writes: ops.matmul(solved, ops.mul(v, beta)),
    erasers: ops.matmul(solved, ops.mul(weighted, leftHere)),
    readers: ops.mul(q, leftHere),
    keys: ops.mul(k, ops.exp(ops.sub(last, total))),
    scores: ops.mul(ops.matmul(q, k, { transB: true }), between),
    left: ops.exp(last),
  };
}

const NAMES = ['writes', 'erasers', 'readers', 'keys', 'scores', 'left'] as const;

/** Selects one chunk in the loop body, [B, heads, …]. */
function pick(x: Value, index: Value): Value {
  return ops.reshape(ops.gather(x, index, 0), x.shape.slice(1));
}

/** A chunk's outputs, [B, heads, C, dv], and the state after it. */
function step(chunk: Chunks, state: Value): { answers: Value; next: Value } {
  const written = ops.sub(chunk.writes, ops.matmul(chunk.erasers, state));
  const answers = ops.add(ops.matmul(chunk.readers, state), ops.matmul(chunk.scores, written));
  const next = ops.add(ops.mul(state, chunk.left), ops.matmul(chunk.keys, written, { transA: true }));
  return { answers, next };
}

/** Values in the order of {@link NAMES}. */
function chunksOf(values: readonly Value[]): Chunks {
  const entries = NAMES.map((name, i) => [name, values[i]] as const);
  return Object.fromEntries(entries) as Record<(typeof NAMES)[number], Value>;
}

function chunkAt(chunks: Chunks, index: Value): Chunks {
  return chunksOf(NAMES.map((name) => pick(chunks[name], index)));
}

/** Passes the state through the chunks: [n, B, heads, C, dv]. */
function scan(chunks: Chunks, shared?: SharedStart): Value {
  const { graph } = chunks.writes;
  const [n, B, heads, , dv] = chunks.writes.shape;
  const [, , , , dk] = chunks.keys.shape;
  const count = ops.dimValue(graph, n);
  const empty = ops.full(graph, [B, heads, dk, dv], 0);
  const initial = shared === undefined ? [empty] : [empty, empty];
  let operandIndices: number[] = [];
  let sharedIndices: number[] = [];
  const derivative: Rule = (c) => {
    const { captures } = c.node.body!;
    const found = chunksOf(operandIndices.map((index) => captures[index]));
    const [continues, ends] = sharedIndices.map((index) => captures[index]);
    const grad = c.gradOf(initial.length)!;
    const entries: (null | (() => Value))[] = [...c.node.inputs, ...captures].map(() => null);
    backward(found, c.output(initial.length + 1), grad, shared && { continues, ends }).forEach(
      (gradient, i) => (entries[c.node.inputs.length + operandIndices[i]] = gradient),
    );
    return entries;
  };
  const options = { count, turns: n, initial, derivative };
  const { collected } = ops.loop(graph, options, (_, index, [behind, ...kept]) => {
    const state = shared === undefined ? behind : ops.where(pick(shared.continues, index), kept[0], behind);
    const { answers, next } = step(chunkAt(chunks, index), state);
    const afterShared = shared === undefined ? [] : [ops.where(pick(shared.ends, index), next, kept[0])];
    return { carried: [next, ...afterShared], collected: [answers, ops.reshape(state, state.shape)] };
  });
  // A copy of the graph keeps the order of captures, so operands are identified by index.
  const { captures } = collected[0].producer!.body!;
  operandIndices = NAMES.map((name) => captures.indexOf(chunks[name]));
  if (shared !== undefined) sharedIndices = [shared.continues, shared.ends].map((x) => captures.indexOf(x));
  return collected[0];
}

/**
 * Gradients of the loop's inputs, in the order of {@link NAMES}: from the last chunk to the first, each recomputed
 * from its initial state.
 * @param states [n, B, heads, dk, dv]
 * @param grad [n, B, heads, C, dv]
 */
function backward(chunks: Chunks, states: Value, grad: Value, shared?: SharedStart): (() => Value)[] {
  const { graph } = grad;
  const run = (): Value[] => {
    const [n] = grad.shape;
    const count = ops.dimValue(graph, n);
    const empty = ops.full(graph, states.shape.slice(1), 0);
    const initial = shared === undefined ? [empty] : [empty, empty];
    const { collected } = ops.loop(graph, { count, turns: n, initial }, (_, turn, [behind, ofShared]) => {
      const index = ops.sub(ops.sub(count, turn), 1);
      const chunk = chunkAt(chunks, index);
      const state = pick(states, index);
      const { answers, next } = step(chunk, state);
      const wrt = [state, ...NAMES.map((name) => chunk[name])];
      if (shared === undefined) {
        const [before, ...own] = vectorJacobianProducts([answers, next], [pick(grad, index), behind], wrt);
        return { carried: [before], collected: own };
      }
      const ends = pick(shared.ends, index);
      const after = ops.add(behind, ops.where(ends, ofShared, 0));
      const [before, ...own] = vectorJacobianProducts([answers, next], [pick(grad, index), after], wrt);
      const continues = pick(shared.continues, index);
      const kept = ops.where(ends, 0, ofShared);
      return {
        carried: [ops.where(continues, 0, before), ops.add(kept, ops.where(continues, before, 0))],
        collected: own,
      };
    });
    const inOrder = ops.sub(ops.sub(count, ops.range(graph, n)), 1);
    return collected.map((x) => ops.gather(x, inOrder, 0));
  };
  let built: Value[] | undefined;
  return NAMES.map((_, i) => () => (built ??= graph.scope('delta_rule', run))[i]);
}
