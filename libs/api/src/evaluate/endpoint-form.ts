import type { PolicyActRequest } from '@ui-rl/contracts';

/** The sampling settings of an answer. */
export type Sampling = Pick<PolicyActRequest, 'maxTokens' | 'temperature' | 'topP' | 'seed'>;

/** A sampling parameter that a server may reject. */
export type Parameter = 'max_tokens' | 'max_completion_tokens' | 'temperature' | 'top_p' | 'seed';

/** The parts of an error that can name a rejected parameter. */
interface Refusal {
  message: string;
  param?: string | null | undefined;
}

/** If an error names several parameters, they are dropped in this order: the least effect on the answer first. */
const ORDER: readonly Parameter[] = ['top_p', 'seed', 'temperature', 'max_tokens', 'max_completion_tokens'];
/** Spellings that servers use in their errors. */
const SPELLINGS: Readonly<Record<Parameter, RegExp>> = {
  top_p: /(?<![a-z\d])top_?p(?![a-z\d])/i,
  seed: /(?<![a-z\d])seed(?![a-z\d])/i,
  temperature: /(?<![a-z\d])temperature(?![a-z\d])/i,
  max_tokens: /(?<![a-z\d])max_?(completion_?)?tokens(?![a-z\d])/i,
  max_completion_tokens: /(?<![a-z\d])max_?(completion_?)?tokens(?![a-z\d])/i,
};
/**
 * An error about a token limit that is too large also names its parameter, but does not reject the parameter itself.
 */
const REFUSED =
  /unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed|accepted|available)|forbidden|deprecated|cannot find|instead|\bextra\b/i;

/** The sampling parameters to send to an endpoint: all of them, until the endpoint rejects one. */
export class EndpointForm {
  /** @param refused parameters that requests omit */
  private constructor(readonly refused: readonly Parameter[]) {}

  static readonly whole = new EndpointForm(['max_completion_tokens']);

  /** The parameters to send. */
  parameters({ maxTokens, temperature, topP, seed }: Sampling): Partial<Record<Parameter, number>> {
    const all = { max_tokens: maxTokens, max_completion_tokens: maxTokens, temperature, top_p: topP, seed };
    return Object.fromEntries(
      ORDER.filter((name) => !this.refused.includes(name)).map((name) => [name, all[name]]),
    );
  }

  /** The parameters that the endpoint rejects; `max_tokens` if it accepts neither of the two names. */
  get leftOut(): Parameter[] {
    const hasLimit = !this.refused.includes('max_tokens') || !this.refused.includes('max_completion_tokens');
    return this.refused.filter(
      (name) => name !== 'max_completion_tokens' && !(hasLimit && name === 'max_tokens'),
    );
  }

  /** The form without the parameter that the error rejects; undefined if it rejects none of those sent. */
  without(error: Refusal, sampling: Sampling): EndpointForm | undefined {
    const sent = this.parameters(sampling);
    const name = refusedBy(error, sent);
    if (name === undefined) return undefined;
    const refused = this.refused.filter((each) => each !== 'max_completion_tokens' || name !== 'max_tokens');
    return new EndpointForm([...refused, name]);
  }
}

function refusedBy(
  { message, param }: Refusal,
  sent: Partial<Record<Parameter, number>>,
): Parameter | undefined {
  const candidates = ORDER.filter((name) => name in sent && isRefusal(name, message));
  const said = candidates.find((name) => name === param);
  if (said !== undefined) return said;
  const named = candidates.filter((name) => SPELLINGS[name].test(message));
  // Drop the parameter with the default value first: omitting it changes nothing.
  return named.find((name) => sent[name] === 1 && name !== 'seed') ?? named[0];
}

function isRefusal(name: Parameter, message: string): boolean {
  return (name !== 'max_tokens' && name !== 'max_completion_tokens') || REFUSED.test(message);
}
