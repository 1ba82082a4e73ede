import { KEY_NAMES, MODIFIERS, type ActionName } from './action';
import { ACTION_NAMES, MAX_KEYS, SCHEMA, type Field, type FieldRule, type Variant } from './schema';
import type { ScreenSizes, Size } from './sizes';

/** A character of a JSON string as `JSON.stringify` writes it. */
const CHARACTER = String.raw`(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9a-f])`;
/** A key that is a printable character. */
const KEY_CHARACTER = String.raw`[!#-\[\]-~]|\\["\\]`;

const KEY = `"(?:${KEY_NAMES.join('|')}|${KEY_CHARACTER})"`;
/** Points that a path is offered, of MAX_VIA that are read: each multiplies the size of the grammar. */
const VIA = 8;

/**
 * The actions in the json format, with points on the screenshot. Some tokenizers begin with a space, which is
 * allowed.
 */
export function jsonGrammar(
  { screenshot }: ScreenSizes,
  actions: readonly ActionName[] = ACTION_NAMES,
): string {
  const written = actions.flatMap((name) =>
    SCHEMA[name].map((variant) => `"${name}"${fieldsOf(variant, screenshot)}`),
  );
  return String.raw` ?\{"action":(?:${written.join('|')})\}`;
}

function fieldsOf({ fields, together = [] }: Variant, screen: Size): string {
  const write = (name: string): string => `,"${name}":${valueOf(name, fields[name].rule, screen)}`;
  return Object.entries(fields)
    .map(([name, field]) => {
      if (!together.includes(name)) return maybe(write(name), field);
      // All of them or none, at the position of the first.
      return name === together[0] ? maybe(together.map(write).join(''), field) : '';
    })
    .join('');
}

function maybe(pattern: string, { optional }: Field): string {
  return optional ? `(?:${pattern})?` : pattern;
}

function valueOf(name: string, rule: FieldRule, screen: Size): string {
  switch (rule.type) {
    case 'integer':
      return integers(
        rule.min,
        name === 'x' ? screen.width - 1 : name === 'y' ? screen.height - 1 : rule.max,
      );
    case 'number':
      return String.raw`(?:${integers(rule.min, rule.max)}|${integers(rule.min, rule.max - 1)}\.[0-9]{1,2})`;
    case 'string':
      return `"${CHARACTER}*"`;
    case 'boolean':
      return '(?:true|false)';
    case 'one-of':
      return `"(?:${rule.values.join('|')})"`;
    case 'point':
      return pointOn(screen);
    case 'path':
      return String.raw`\[${pointOn(screen)}(?:,${pointOn(screen)}){0,${VIA - 1}}\]`;
    case 'key':
      return KEY;
    case 'keys':
      return String.raw`\[${KEY}(?:,${KEY}){0,${MAX_KEYS - 1}}\]`;
    case 'modifiers': {
      const key = `"(?:${MODIFIERS.join('|')})"`;
      return String.raw`\[${key}(?:,${key}){0,${MODIFIERS.length - 1}}\]`;
    }
  }
}

function pointOn({ width, height }: Size): string {
  return String.raw`\[${integers(0, width - 1)},${integers(0, height - 1)}\]`;
}

/** The integers from `min` to `max`, without leading zeros. */
export function integers(min: number, max: number): string {
  const ranges: string[] = [];
  for (let digits = String(min).length; digits <= String(max).length; digits += 1) {
    const from = Math.max(min, digits === 1 ? 0 : 10 ** (digits - 1));
    ranges.push(...ofOneLength(String(from), String(Math.min(max, 10 ** digits - 1))));
  }
  return `(?:${ranges.join('|')})`;
}

/** Numbers with the same number of digits, by their first digit. */
function ofOneLength(from: string, to: string): string[] {
  if (from.length === 1) return [digitsFrom(from, to)];
  const [first, last] = [Number(from[0]), Number(to[0])];
  const [low, high] = [from.slice(1), to.slice(1)];
  if (first === last) return ofOneLength(low, high).map((rest) => from[0] + rest);
  const rest = `[0-9]{${low.length}}`;
  const isFromStart = /^0+$/.test(low);
  const isToEnd = /^9+$/.test(high);
  const [wholeFrom, wholeTo] = [isFromStart ? first : first + 1, isToEnd ? last : last - 1];
  return [
    ...(isFromStart ? [] : ofOneLength(low, '9'.repeat(low.length)).map((tail) => from[0] + tail)),
    ...(wholeFrom > wholeTo ? [] : [digitsFrom(String(wholeFrom), String(wholeTo)) + rest]),
    ...(isToEnd ? [] : ofOneLength('0'.repeat(high.length), high).map((tail) => to[0] + tail)),
  ];
}

function digitsFrom(from: string, to: string): string {
  return from === to ? from : `[${from}-${to}]`;
}
