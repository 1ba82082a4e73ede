import type { Value } from '@ui-rl/graph';
import type { ComponentBase } from './component';
import type { LossInput, LossTerms } from './policy-loss';

/** What a regularizer is built from, [M] each: see `LossTerms`. `inputs` has what it declared. */
export type RegularizerTerms = Pick<LossTerms, 'ops' | 'scalar' | 'logprobs' | 'entropy' | 'inputs'>;

export interface RegularizerValues {
  /** [M] is added to the loss with the weights of the tokens, whatever the scope of the loss. Its mean is published as `regularizer/<name>`. */
  loss: Value;
  /** Name → [M]; their means are published as `regularizer/<name>/<metric>`. */
  metrics?: Readonly<Record<string, Value>>;
}

export interface Regularizer {
  build(terms: RegularizerTerms): RegularizerValues;
}

/** A term besides the policy loss, which does not look at rewards: it holds the policy near another one, or keeps it trying. */
export interface RegularizerComponent<Options = unknown> extends ComponentBase<
  'regularizer',
  Options,
  Record<string, never>,
  Regularizer
> {
  readonly inputs: readonly LossInput[];
}
