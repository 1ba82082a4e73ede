import { invalid, unsupported } from './errors';
import { Fields } from './fields';
import type { AnswerToken, PolicyRequest } from './policy';

const MAX_SEED = 2 ** 31 - 1;
const MAX_STOPS = 4;
const MAX_CHOICES = 16;
const MAX_TOKENS = 2 ** 20;

/** Sampling options with the same names in all of OpenAI's requests. */
export function readSampling(fields: Fields): Pick<PolicyRequest, 'temperature' | 'topP'> {
  fields.only('frequency_penalty', 0);
  fields.only('presence_penalty', 0);
  return {
    temperature: fields.number('temperature', { min: 0, max: 2 }),
    topP: fields.number('top_p', { min: 1e-6, max: 1 }),
  };
}

export function readSeed(fields: Fields): number | undefined {
  return fields.number('seed', { min: 0, max: MAX_SEED, integer: true });
}

export function readMaxTokens(fields: Fields, ...names: string[]): number | undefined {
  const given = names.map((name) => fields.number(name, { min: 1, max: MAX_TOKENS, integer: true }));
  return given.find((value) => value !== undefined);
}

/** Number of answers per prompt. */
export function readChoices(fields: Fields): number {
  return fields.number('n', { min: 1, max: MAX_CHOICES, integer: true }) ?? 1;
}

export function readStop(fields: Fields): string[] {
  const value = fields.raw('stop');
  if (value === undefined) return [];
  const stops: unknown[] = Array.isArray(value) ? value : [value];
  const isRight = stops.length <= MAX_STOPS && stops.every((each) => typeof each === 'string' && each !== '');
  if (!isRight)
    throw invalid(fields.at('stop'), `expected a text, or up to ${MAX_STOPS}, none of them empty`);
  return stops as string[];
}

/** Whether the stream ends with a chunk that contains token counts. */
export function readStreamUsage(fields: Fields): boolean {
  const value = fields.raw('stream_options');
  if (value === undefined) return false;
  const options = Fields.of(value, fields.at('stream_options'));
  const usage = options.boolean('include_usage') ?? false;
  options.only('include_obfuscation', false);
  options.end();
  return usage;
}

/** Rejects requests for alternatives to the sampled tokens, which are not available. */
export function refuseAlternatives(fields: Fields, name: string): void {
  const most = fields.number(name, { min: 0, max: 20, integer: true }) ?? 0;
  if (most > 0)
    throw unsupported(
      fields.at(name),
      'only the log-probability of the sampled token is known; 0 can be given',
    );
}

/** Seeds of several answers to one prompt; random ones without a seed. */
export function seedsOf(seed: number | undefined, count: number): (number | undefined)[] {
  return Array.from({ length: count }, (_, index) =>
    seed === undefined ? undefined : (seed + index) % (MAX_SEED + 1),
  );
}

/** The tokens of an answer up to a stop text, and the text before it. */
export function untilStop(
  tokens: readonly AnswerToken[],
  stops: readonly string[],
): { tokens: AnswerToken[]; text: string; stopped: boolean } {
  let text = '';
  for (const [index, token] of tokens.entries()) {
    text += token.text;
    const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
    if (places.length === 0) continue;
    return { tokens: tokens.slice(0, index + 1), text: text.slice(0, Math.min(...places)), stopped: true };
  }
  return { tokens: [...tokens], text, stopped: false };
}
