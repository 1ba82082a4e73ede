import { ops, type Value } from '@ui-rl/graph';
import { KEPT_INPUTS, type TrainerForward } from '../base';

/** The values that training uses of next-token distributions at M positions. */
export type Distribution = Pick<TrainerForward, 'logProbs' | 'entropy'>;

/**
 * softmax(scaled).
 * @param scaled [M, V] logits divided by the temperature of each row
 * @param targets int64 [M]
 */
export function whole(scaled: Value, targets: Value): Distribution {
  const { graph } = scaled;
  const all = graph.scope('log_probs', () => ops.logSoftmax(scaled, 1));
  return {
    logProbs: graph.scope('log_probs', () => pickEach(all, targets)),
    entropy: () => graph.scope('entropy', () => entropyOf(all)),
  };
}

/** Like `whole`, but a cut row is the softmax over its kept tokens only: see `KEPT_INPUTS`. */
export function mayBeCut(scaled: Value, targets: Value): Distribution {
  const { graph } = scaled;
  const [M] = scaled.shape;
  const isCut = graph.input(KEPT_INPUTS.isCut, 'float32', [M]);
  const tokens = graph.input(KEPT_INPUTS.tokens, 'int64', [M, 'kept']);
  const bias = graph.input(KEPT_INPUTS.bias, 'float32', [M, 'kept']);
  const uncut = whole(scaled, targets);
  const choose = (cut: Value, other: Value): Value =>
    ops.add(ops.mul(isCut, cut), ops.mul(ops.sub(1, isCut), other));
  const { left, logProbs } = graph.scope('kept_tokens', () => {
    const kept = ops.add(ops.takeAlongAxis(scaled, tokens, 1), bias);
    return { left: kept, logProbs: ops.logSoftmax(kept, 1) };
  });
  return {
    logProbs: graph.scope('log_probs', () => {
      // log Σ exp, taken from the first token, which is always kept.
      const logSum = ops.sub(firstOf(left), firstOf(logProbs));
      return choose(ops.sub(pickEach(scaled, targets), logSum), uncut.logProbs);
    }),
    entropy: () => graph.scope('entropy', () => choose(entropyOf(logProbs), uncut.entropy())),
  };
}

/** The element [M] of each row of [M, x] at an index [M]. */
function pickEach(x: Value, indices: Value): Value {
  return ops.squeeze(ops.takeAlongAxis(x, ops.unsqueeze(indices, [1]), 1), [1]);
}

function firstOf(x: Value): Value {
  return ops.squeeze(ops.slice(x, 1, 0, 1), [1]);
}

/** Entropy [M] of log-probabilities [M, x]. */
function entropyOf(logProbs: Value): Value {
  return ops.neg(ops.reduceSum(ops.mul(ops.exp(logProbs), logProbs), [1]));
}
