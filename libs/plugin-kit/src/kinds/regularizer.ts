import type { Value } from '@ui-rl/graph';
import type { ComponentBase } from './component';
import type { LossInput, LossTerms } from './policy-loss';

/** Building blocks of a regularizer, [M] each: see `LossTerms`. `inputs` contains those that it declares. */
export type RegularizerTerms = Pick<LossTerms, 'ops' | 'scalar' | 'logprobs' | 'entropy' | 'inputs'>;

export interface RegularizerValues {
  /**
   * [M], added to the loss with the weights of the tokens, regardless of the scope of the loss. Its mean is published
   * as `regularizer/<name>`.
   */
  loss: Value;
  /** Name → [M]; their means are published as `regularizer/<name>/<metric>`. */
  metrics?: Readonly<Record<string, Value>>;
}

export interface Regularizer {
  build(terms: RegularizerTerms): RegularizerValues;
}

/** A term of the loss that does not read rewards: it keeps the policy close to another one, or keeps it exploring. */
export interface RegularizerComponent<Options = unknown> extends ComponentBase<
  'regularizer',
  Options,
  Record<string, never>,
  Regularizer
> {
  readonly inputs: readonly LossInput[];
}
