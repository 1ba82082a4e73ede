import type { PolicyActRequest } from '@ui-rl/contracts';

/** How an answer is sampled. */
export type Sampling = Pick<PolicyActRequest, 'maxTokens' | 'temperature' | 'topP' | 'seed'>;

/** A parameter of sampling that a server may refuse. */
export type Parameter = 'max_tokens' | 'max_completion_tokens' | 'temperature' | 'top_p' | 'seed';

/** What an error says of a request. */
interface Refusal {
  message: string;
  param?: string | null | undefined;
}

/** In which order several that an error names are left out: what changes least is first. */
const ORDER: readonly Parameter[] = ['top_p', 'seed', 'temperature', 'max_tokens', 'max_completion_tokens'];
/** As servers spell them. */
const SPELLINGS: Readonly<Record<Parameter, RegExp>> = {
  top_p: /(?<![a-z\d])top_?p(?![a-z\d])/i,
  seed: /(?<![a-z\d])seed(?![a-z\d])/i,
  temperature: /(?<![a-z\d])temperature(?![a-z\d])/i,
  max_tokens: /(?<![a-z\d])max_?(completion_?)?tokens(?![a-z\d])/i,
  max_completion_tokens: /(?<![a-z\d])max_?(completion_?)?tokens(?![a-z\d])/i,
};
/** A number of tokens that is too large is named, too, but not refused by name. */
const REFUSED =
  /unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed|accepted|available)|forbidden|deprecated|cannot find|instead|\bextra\b/i;

/** Which parameters of sampling an endpoint is sent: all of them until it refuses one. */
export class EndpointForm {
  /** @param refused parameters that are not sent */
  private constructor(readonly refused: readonly Parameter[]) {}

  static readonly whole = new EndpointForm(['max_completion_tokens']);

  /** The parameters that are sent. */
  parameters({ maxTokens, temperature, topP, seed }: Sampling): Partial<Record<Parameter, number>> {
    const all = { max_tokens: maxTokens, max_completion_tokens: maxTokens, temperature, top_p: topP, seed };
    return Object.fromEntries(
      ORDER.filter((name) => !this.refused.includes(name)).map((name) => [name, all[name]]),
    );
  }

  /** What the endpoint refuses, `max_tokens` where it takes neither name of that. */
  get leftOut(): Parameter[] {
    const hasLimit = !this.refused.includes('max_tokens') || !this.refused.includes('max_completion_tokens');
    return this.refused.filter(
      (name) => name !== 'max_completion_tokens' && !(hasLimit && name === 'max_tokens'),
    );
  }

  /** The form without what the error refuses; undefined where it refuses none of what was sent. */
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
