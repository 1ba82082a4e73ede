import type { Random } from '@ui-rl/random';

/** A part of a template: plain text, a slot, or alternatives of which one is chosen. */
type Part = string | { slot: string } | { alternatives: Part[][] };

const PARSED = new Map<string, Part[]>();

/**
 * A random sentence of a template: `(click|press) (the|) <target>` has two verbs, an optional article and a slot.
 * Alternatives may be nested.
 *
 * @throws Error if a slot has no value, or parentheses do not match
 */
export function expand(template: string, slots: Readonly<Record<string, string>>, random: Random): string {
  const skeleton = tidy(skeletonOf(parse(template), random));
  return skeleton.replaceAll(/<([a-z]+)>/gi, (_, slot: string) => valueOf(slots, slot, template));
}

/** A random sentence of a template with unfilled slots. */
function skeletonOf(parts: readonly Part[], random: Random): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      if ('slot' in part) return `<${part.slot}>`;
      return skeletonOf(random.pick(part.alternatives), random);
    })
    .join('');
}

/** Every sentence of a template, with unfilled slots: `<target>`. */
export function expansions(template: string): string[] {
  return combinations(parse(template)).map(tidy);
}

function combinations(parts: readonly Part[]): string[] {
  return parts.reduce<string[]>(
    (heads, part) => heads.flatMap((head) => choicesOf(part).map((choice) => head + choice)),
    [''],
  );
}

function choicesOf(part: Part): string[] {
  if (typeof part === 'string') return [part];
  if ('slot' in part) return [`<${part.slot}>`];
  return part.alternatives.flatMap(combinations);
}

function valueOf(slots: Readonly<Record<string, string>>, slot: string, template: string): string {
  const value = slots[slot];
  if (value === undefined) throw new Error(`no value for <${slot}> of the wording "${template}"`);
  return value;
}

/** Removes the double spaces left by empty alternatives. */
function tidy(sentence: string): string {
  return sentence.replaceAll(/ {2,}/g, ' ').trim();
}

function parse(template: string): Part[] {
  const known = PARSED.get(template);
  if (known !== undefined) return known;
  const [parts, end] = sequence(template, 0);
  if (end !== template.length) throw new Error(`a ")" too many at ${end} in the wording "${template}"`);
  PARSED.set(template, parts);
  return parts;
}

/** Parses from `start` up to a `|`, a `)` or the end, and returns that position. */
function sequence(template: string, start: number): [Part[], number] {
  const parts: Part[] = [];
  let at = start;
  while (at < template.length && template[at] !== '|' && template[at] !== ')') {
    const [part, end] = partAt(template, at);
    parts.push(part);
    at = end;
  }
  return [parts, at];
}

function partAt(template: string, at: number): [Part, number] {
  if (template[at] === '(') return alternativesAt(template, at);
  if (template[at] === '<') {
    const end = template.indexOf('>', at);
    return [{ slot: template.slice(at + 1, end) }, end + 1];
  }
  const length = template.slice(at).search(/[(<|)]/);
  const end = length < 0 ? template.length : at + length;
  return [template.slice(at, end), end];
}

function alternativesAt(template: string, open: number): [Part, number] {
  const alternatives: Part[][] = [];
  let at = open;
  while (at === open || template[at] === '|') {
    const [parts, end] = sequence(template, at + 1);
    alternatives.push(parts);
    at = end;
  }
  if (template[at] !== ')') throw new Error(`a ")" is missing in the wording "${template}"`);
  return [{ alternatives }, at + 1];
}
