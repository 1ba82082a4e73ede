import { ops, type Graph, type Value } from '@ui-rl/graph';
import type {
  LossInput,
  LossModel,
  LossScope,
  LossTerms,
  LossValues,
  PairOps,
  Regularizer,
  RegularizerValues,
  SequenceOps,
} from '@ui-rl/plugin-kit';
import { EngineError } from '../errors';

/** The dimension of per-token values. */
export const TRAINED_TOKENS = 'M';
// Words, because P and other letters are symbols of families in the same graph, such as P for patches.
const SEQUENCES = 'sequences';
const PAIRS = 'pairs';

/** A loss as training uses it. */
export interface Loss {
  readonly name: string;
  /** Equal for losses with equal graphs; sessions are cached by it. */
  readonly key: string;
  readonly scope: LossScope;
  readonly trains: LossModel;
  /** Inputs of the loss and its regularizers. */
  readonly inputs: readonly LossInput[];
  build(terms: LossTerms): LossValues;
  /** Terms that are added to it, by name. */
  readonly regularizers?: ReadonlyMap<string, Regularizer>;
}

/** The model's outputs for the trained tokens, [M] each. */
export type TokenValues =
  { role: 'policy'; logprobs: Value; entropy: () => Value } | { role: 'critic'; predictions: Value };

/** The value that a pass differentiates. */
export interface Objective {
  readonly key: string;
  build(graph: Graph, tokens: TokenValues): BuiltObjective;
}

export interface BuiltObjective {
  /** Scalar. */
  total: Value;
  /**
   * Scalars: sums over tokens, sequences or pairs; regularizers, whose names start with `regularizer/`, over tokens.
   */
  metrics: ReadonlyMap<string, Value>;
}

/** Inputs of an objective besides those that the loss declares. */
export const OBJECTIVE_INPUTS = {
  /** [M], [sequences] or [pairs], depending on the loss's scope */
  weights: 'loss_weights',
  /** [M] for regularizers, if the loss does not have token scope */
  tokenWeights: 'token_weights',
  /** [sequences, M] 1 if a token belongs to a sequence, else 0 */
  membership: 'sequence_membership',
  /** [pairs, sequences] 1 at the pair's chosen sequence, else 0 */
  chosen: 'chosen_sequences',
  rejected: 'rejected_sequences',
  /** [M] derivatives of a loss that was computed separately */
  logprobDerivatives: 'logprob_derivatives',
  entropyDerivatives: 'entropy_derivatives',
} as const;

/** Prefix of regularizers' metric names. */
export const REGULARIZER = 'regularizer/';

/** Σ weight · loss, plus regularizers with the weights of tokens. */
export function weighted(loss: Loss): Objective {
  return {
    key: loss.key,
    build(graph, tokens) {
      const weights = graph.input(OBJECTIVE_INPUTS.weights, 'float32', [unitsOf(loss.scope)]);
      const terms = termsOf(loss, graph, tokens);
      const values = valuesOf(`loss ${loss.name}`, loss.scope, () => loss.build(terms));
      const metrics = new Map(
        Object.entries(values.metrics ?? {}).map(([name, value]) => [name, ops.reduceSum(value)]),
      );
      let total = ops.reduceSum(ops.mul(values.loss, weights));
      if (loss.regularizers === undefined || loss.regularizers.size === 0) return { total, metrics };
      const ofTokens =
        loss.scope === 'token'
          ? weights
          : graph.input(OBJECTIVE_INPUTS.tokenWeights, 'float32', [TRAINED_TOKENS]);
      for (const [name, regularizer] of loss.regularizers) {
        const added = valuesOf(`regularizer ${name}`, 'token', () => regularizer.build(terms));
        total = ops.add(total, ops.reduceSum(ops.mul(added.loss, ofTokens)));
        metrics.set(`${REGULARIZER}${name}`, ops.reduceSum(added.loss));
        for (const [metric, value] of Object.entries(added.metrics ?? {})) {
          metrics.set(`${REGULARIZER}${name}/${metric}`, ops.reduceSum(value));
        }
      }
      return { total, metrics };
    },
  };
}

/**
 * Σ derivative · log-probability, plus the same for entropies if the loss reads them: its gradient equals that of the
 * loss with the fed derivatives. This carries a loss over whole sequences through a model in chunks.
 */
export function linear(readsEntropy: boolean): Objective {
  return {
    key: readsEntropy ? 'linear in log-probabilities and entropies' : 'linear in log-probabilities',
    build(graph, tokens) {
      if (tokens.role !== 'policy') throw new Error('derivatives by log-probabilities are those of a policy');
      const { logprobs, entropy } = tokens;
      const fed = (name: string): Value => graph.input(name, 'float32', [TRAINED_TOKENS]);
      const byLogprob = ops.mul(logprobs, fed(OBJECTIVE_INPUTS.logprobDerivatives));
      if (!readsEntropy) return { total: ops.reduceSum(byLogprob), metrics: new Map() };
      const byEntropy = ops.mul(entropy(), fed(OBJECTIVE_INPUTS.entropyDerivatives));
      return { total: ops.reduceSum(ops.add(byLogprob, byEntropy)), metrics: new Map() };
    },
  };
}

/**
 * @throws EngineError `request` that names an error in building the loss, or a value of the wrong shape for its scope
 */
function valuesOf<V extends LossValues | RegularizerValues>(
  name: string,
  scope: LossScope,
  build: () => V,
): V {
  let values: V;
  try {
    values = build();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new EngineError('request', `${name} cannot be built: ${reason}`, { cause });
  }
  const unit = unitsOf(scope);
  for (const [metric, { shape }] of Object.entries({ its: values.loss, ...values.metrics })) {
    if (shape.length === 1 && shape[0] === unit) continue;
    const what = metric === 'its' ? 'its value' : `its metric ${metric}`;
    throw new EngineError(
      'request',
      `${name}: ${what} has shape [${shape.join(', ')}], expected [${unit}]: one number per ${scope}`,
    );
  }
  return values;
}

function unitsOf(scope: LossScope): string {
  return { token: TRAINED_TOKENS, sequence: SEQUENCES, pair: PAIRS }[scope];
}

function termsOf({ scope, inputs: declared }: Loss, graph: Graph, tokens: TokenValues): LossTerms {
  const inputs = declared.map((name) => [name, graph.input(name, 'float32', [TRAINED_TOKENS])] as const);
  const sequences = scope === 'token' ? undefined : sequenceOps(graph);
  const pairs = scope === 'pair' ? pairOps(graph) : undefined;
  return {
    ops,
    scalar: (value) => ops.scalar(graph, value, 'float32'),
    get logprobs() {
      return ofPolicy(tokens, 'logprobs').logprobs;
    },
    get predictions() {
      return tokens.role === 'critic' ? tokens.predictions : ofAnother('predictions', 'critic');
    },
    entropy: () => ofPolicy(tokens, 'entropy').entropy(),
    inputs: Object.fromEntries(inputs) as LossTerms['inputs'],
    get sequences() {
      return sequences ?? absent('sequences', 'sequence');
    },
    get pairs() {
      return pairs ?? absent('pairs', 'pair');
    },
  };
}

function ofPolicy(tokens: TokenValues, what: string): Extract<TokenValues, { role: 'policy' }> {
  return tokens.role === 'policy' ? tokens : ofAnother(what, 'policy');
}

function ofAnother(what: string, role: LossModel): never {
  throw new Error(`a loss that uses ${what} must declare that it trains the ${role}`);
}

function absent(what: string, scope: LossScope): never {
  throw new Error(`a loss that uses ${what} must declare the scope "${scope}"`);
}

/** Sums and copies along sequences are products with the membership matrix. */
function sequenceOps(graph: Graph): SequenceOps {
  const membership = graph.input(OBJECTIVE_INPUTS.membership, 'float32', [SEQUENCES, TRAINED_TOKENS]);
  const times = (matrix: Value, vector: Value, transA = false): Value =>
    ops.squeeze(ops.gemm(matrix, ops.unsqueeze(vector, [1]), null, { transA }), [1]);
  const sum = (perToken: Value): Value => times(membership, perToken);
  return {
    sum,
    mean: (perToken) => ops.div(sum(perToken), ops.reduceSum(membership, [1])),
    spread: (perSequence) => times(membership, perSequence, true),
  };
}

function pairOps(graph: Graph): PairOps {
  const side = (name: string): ((perSequence: Value) => Value) => {
    const matrix = graph.input(name, 'float32', [PAIRS, SEQUENCES]);
    return (perSequence) => ops.squeeze(ops.gemm(matrix, ops.unsqueeze(perSequence, [1]), null), [1]);
  };
  return { chosen: side(OBJECTIVE_INPUTS.chosen), rejected: side(OBJECTIVE_INPUTS.rejected) };
}
