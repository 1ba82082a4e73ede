import { MODIFIERS, type Action, type ActionName } from './action';
import { quote, shorten } from './calls/rejection';
import { checkField, type FieldValue } from './check-field';
import type { Dialect, ParseFailure, ParseFailureReason } from './dialect';
import { jsonGrammar } from './json-grammar';
import { readJson, type Entry, type JsonNode } from './json-reader';
import { ACTION_NAMES, isActionName, SCHEMA, type Variant } from './schema';
import { CUT_OFF, ONLY_THOUGHTS, readBehindThoughts, type Reading } from './thoughts';

type ObjectNode = Extract<JsonNode, { type: 'object' }>;

/**
 * One JSON object, one action: `{"action":"click","x":83,"y":41}`. Coordinates are pixels of the screenshot. Ignores
 * thoughts and text before the object, and a Markdown fence around it. Text after it is a failure.
 */
export const jsonDialect: Dialect = {
  parse(text) {
    const { result } = readAnswer(text);
    return result.ok ? { ok: true, actions: [result.action] } : result;
  },
  format(actions) {
    if (actions.length === 1) return formatAction(actions[0]);
    throw new RangeError(`the json dialect writes one action per answer, found ${actions.length}`);
  },
  describe: () => describeJson(IN_PIXELS),
  grammar: jsonGrammar,
};

export const IN_PIXELS = 'Coordinates are whole pixels of the screenshot, from its top left corner.';

/** One action of the vocabulary, or the reason why it is invalid. */
export type ActionResult = { ok: true; action: Action } | ParseFailure;

/** The action of an answer, and the start of the answer after the thoughts. */
export function readAnswer(text: string): { result: ActionResult; start: number } {
  const { value, start, isCutOff } = readBehindThoughts(text, (from) => actionFrom(text, from));
  if (!isCutOff) return { result: value, start };
  return {
    result: new Parser(text, start).failure('no_action', start, text.length, CUT_OFF, 'click'),
    start,
  };
}

function actionFrom(text: string, start: number): Reading<ActionResult> {
  const parser = new Parser(text, start);
  const node = parser.object();
  return 'ok' in node ? { value: node, parts: null } : { value: parser.action(node), parts: [node] };
}

/** Validates a plain object, for example one from a message, against the vocabulary. Never throws. */
export function readAction(value: unknown): ActionResult {
  const text = toJson(value);
  const parser = new Parser(text, 0);
  if (!text.startsWith('{'))
    return parser.failure('no_action', 0, text.length, 'An action is an object.', 'click');
  const node = parser.object();
  return 'ok' in node ? node : parser.action(node);
}

function toJson(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    // It is nested too deeply, circular, or not JSON. Such an object may not be convertible to a string either.
    return typeof value;
  }
}

class Parser {
  /** @param from start of the answer in the text */
  constructor(
    private readonly text: string,
    private readonly from: number,
  ) {}

  object(): ObjectNode | ParseFailure {
    const start = this.text.indexOf('{', this.from);
    if (start < 0) {
      const message = 'There is no JSON object in the answer.';
      const why = this.from > 0 ? `${message} ${ONLY_THOUGHTS}` : message;
      return this.failure('no_action', this.from, this.text.length, why, 'click');
    }
    const read = readJson(this.text, start);
    if (!read.ok)
      return this.failure('malformed', read.start, read.end, `The JSON object ${read.message}.`, 'click');
    return this.trailing(start, read.node.end) ?? (read.node as ObjectNode);
  }

  failure(
    reason: ParseFailureReason,
    start: number,
    end: number,
    message: string,
    example: ActionName,
  ): ParseFailure {
    const shown = formatAction(SCHEMA[example][0].example);
    return {
      ok: false,
      reason,
      span: { start, end, text: this.text.slice(start, end) },
      correction: `${message} Answer with one JSON object such as ${shown}.`,
    };
  }

  private trailing(start: number, end: number): ParseFailure | null {
    const fenced = /```(?:json)?\s*$/.test(this.text.slice(this.from, start));
    const rest = this.text.slice(end);
    const allowed = fenced ? /^\s*(?:```\s*)?$/ : /^\s*$/;
    if (allowed.test(rest)) return null;
    const from = end + rest.search(/\S/);
    const what = rest.trimStart().startsWith('{') ? 'a second object' : 'text';
    return this.failure(
      'trailing_text',
      from,
      this.text.length,
      `There is ${what} behind the action.`,
      'click',
    );
  }

  action(node: ObjectNode): ActionResult {
    const duplicate = firstDuplicate(node.entries);
    if (duplicate !== undefined) {
      return this.at(duplicate, 'duplicate_key', `The key ${quote(duplicate.key)} comes twice.`, 'click');
    }
    const name = node.entries.find(({ key }) => key === 'action');
    if (name === undefined) {
      return this.at(node, 'missing_key', 'The key "action" is missing.', 'click');
    }
    if (name.node.type !== 'string') {
      return this.at(name.node, 'wrong_type', 'The value of "action" must be a string.', 'click');
    }
    if (!isActionName(name.node.value)) {
      const message = `There is no action ${quote(name.node.value)}; there are ${ACTION_NAMES.join(', ')}.`;
      return this.at(name.node, 'unknown_action', message, 'click');
    }
    const rest = node.entries.filter((entry) => entry !== name);
    return this.fields(node, name.node.value, rest);
  }

  private fields(node: ObjectNode, name: ActionName, entries: Entry[]): ActionResult {
    const variant = bestVariant(SCHEMA[name], entries);
    const unknown = entries.find(({ key }) => !Object.hasOwn(variant.fields, key));
    if (unknown !== undefined) {
      const known = Object.keys(variant.fields).map(quote).join(', ');
      const message = `${name} has no key ${quote(unknown.key)}, its keys are ${known}.`;
      return this.at(unknown, 'unknown_key', message, name);
    }
    const missing = missingKey(variant, entries);
    if (missing !== undefined) {
      return this.at(node, 'missing_key', `${name} needs the key ${quote(missing)}.`, name);
    }
    return this.values(name, variant, entries);
  }

  private values(name: ActionName, variant: Variant, entries: Entry[]): ActionResult {
    const action: Record<string, FieldValue> = { action: name };
    for (const { key, node } of entries) {
      const result = checkField(node, variant.fields[key].rule);
      if (!result.ok) {
        const found = shorten(this.text.slice(result.node.start, result.node.end));
        const message = `${quote(key)} of ${name} must be ${result.expected}, found ${found}.`;
        return this.at(result.node, result.reason, message, name);
      }
      action[key] = result.value;
    }
    return { ok: true, action: ordered(action as unknown as Action, variant) };
  }

  private at(
    place: { start: number; end: number },
    reason: ParseFailureReason,
    message: string,
    example: ActionName,
  ): ParseFailure {
    return this.failure(reason, place.start, place.end, message, example);
  }
}

function firstDuplicate(entries: readonly Entry[]): Entry | undefined {
  const seen = new Set<string>();
  return entries.find(({ key }) => seen.size === seen.add(key).size);
}

/** The variant with the most matching keys; the first on a tie. */
function bestVariant(variants: Variant[], entries: Entry[]): Variant {
  const matches = (variant: Variant) =>
    entries.filter(({ key }) => Object.hasOwn(variant.fields, key)).length;
  return variants.reduce((best, variant) => (matches(variant) > matches(best) ? variant : best));
}

function missingKey(variant: Variant, entries: Entry[]): string | undefined {
  const present = new Set(entries.map(({ key }) => key));
  const together = variant.together ?? [];
  const half = together.some((key) => present.has(key));
  return Object.keys(variant.fields).find(
    (key) => !present.has(key) && (!variant.fields[key].optional || (half && together.includes(key))),
  );
}

/** The action with its keys in canonical order and nothing else. */
function ordered(action: Action, variant: Variant): Action {
  const values = action as unknown as Record<string, unknown>;
  const keys = ['action', ...Object.keys(variant.fields)].filter((key) => values[key] !== undefined);
  return Object.fromEntries(keys.map((key) => [key, values[key]])) as unknown as Action;
}

function formatAction(action: Action): string {
  const entries = Object.keys(action).map((key) => ({ key }) as Entry);
  return JSON.stringify(ordered(action, bestVariant(SCHEMA[action.action], entries)));
}

/** @param coordinates describes the meaning of coordinates, in a sentence */
export function describeJson(coordinates: string, actions: readonly ActionName[] = ACTION_NAMES): string {
  const lines = actions
    .flatMap((name) => SCHEMA[name])
    .map(({ example, meaning }) => `${formatAction(example)} - ${meaning}`);
  return [
    'You see a screenshot and answer with exactly one action.',
    `Answer with one JSON object. ${coordinates}`,
    'The actions, by example:',
    ...lines,
    ...(actions.length === ACTION_NAMES.length ? OPTIONAL_KEYS : optionalKeysOf(actions)),
  ].join('\n');
}

const OPTIONAL_KEYS = [
  '"scroll" and "swipe" may have a place "x" and "y", "swipe" a "distance" in pixels, "long_press" and "key" their',
  '"seconds", "drag" the places on its way: "via":[[60,40]], "finish" a "message". Clicks, "move", "scroll" and "drag" may have "modifiers", keys that are held meanwhile:',
  `"modifiers":["ctrl"] with ${MODIFIERS.join(', ')}.`,
];

function optionalKeysOf(actions: readonly ActionName[]): string[] {
  const lines = actions.flatMap((name) => {
    const keys = SCHEMA[name].flatMap(({ fields }) =>
      Object.keys(fields).filter((key) => fields[key].optional === true),
    );
    return keys.length === 0 ? [] : [`"${name}" may have ${[...new Set(keys)].map(quote).join(', ')}`];
  });
  const hasModifiers = lines.some((line) => line.includes('modifiers'));
  return [
    ...lines,
    ...(hasModifiers
      ? [`"modifiers" are keys that are held meanwhile: ["ctrl"] with ${MODIFIERS.join(', ')}`]
      : []),
  ];
}
