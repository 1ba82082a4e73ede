import { MODIFIERS, type DragAction, type Modified, type Modifier, type Point } from '../action';
import type { Axes, Axis } from '../coordinates';
import type { ParseFailureReason } from '../dialect';
import type { JsonNode } from '../json-reader';
import { keyOfName, modifiersNamed, namesInChord } from '../keys';
import { MAX_KEYS, MAX_TEXT_LENGTH, MAX_VIA } from '../schema';
import { quote, Rejection, shorten } from './rejection';

/** The parser of one function argument. */
export interface Param<T> {
  optional: boolean;
  /** @throws Rejection */
  read: (value: Value) => T;
}

export type Params = Readonly<Record<string, Param<unknown>>>;
export type ValuesOf<P extends Params> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

/** A value with its position. */
export class Value {
  constructor(
    readonly text: string,
    readonly axes: Axes,
    /** Path of the function and argument, for messages. */
    readonly path: string,
    readonly node: JsonNode,
  ) {}

  rejected(reason: ParseFailureReason, expected: string): Rejection {
    const found = shorten(this.text.slice(this.node.start, this.node.end));
    return new Rejection(reason, this.node, `${this.path} must be ${expected}, found ${found}.`);
  }

  /** A part of this value. */
  part(node: JsonNode): Value {
    return new Value(this.text, this.axes, this.path, node);
  }
}

/** Values of one answer. */
export class ParamReader {
  constructor(
    private readonly text: string,
    readonly axes: Axes,
  ) {}

  of(name: string, key: string, node: JsonNode): Value {
    return new Value(this.text, this.axes, `${quote(key)} of ${name}`, node);
  }
}

const required = <T>(read: (value: Value) => T): Param<T> => ({ optional: false, read });

export function optional<T>({ read }: Param<T>): Param<T | undefined> {
  return { optional: true, read };
}

export function number(min: number, max: number): Param<number> {
  return required((value) => numberOf(value, min, max));
}

export function integer(min: number, max: number): Param<number> {
  return required((value) => {
    const found = numberOf(value, min, max);
    if (!Number.isInteger(found)) throw value.rejected('wrong_type', `a whole number from ${min} to ${max}`);
    return found;
  });
}

function numberOf(value: Value, min: number, max: number): number {
  const expected = `a number from ${min} to ${max}`;
  const { node } = value;
  if (node.type !== 'number') throw value.rejected('wrong_type', expected);
  if (!(node.value >= min && node.value <= max)) throw value.rejected('out_of_range', expected);
  return node.value + 0;
}

export const text: Param<string> = required((value) => {
  const { node } = value;
  if (node.type !== 'string') throw value.rejected('wrong_type', 'a string');
  if (node.value.length > MAX_TEXT_LENGTH)
    throw value.rejected('out_of_range', `at most ${MAX_TEXT_LENGTH} characters`);
  return node.value;
});

export const flag: Param<boolean> = required((value) => {
  if (value.node.type !== 'boolean') throw value.rejected('wrong_type', 'true or false');
  return value.node.value;
});

export function oneOf<T extends string>(...values: readonly T[]): Param<T> {
  const expected = `one of ${values.map(quote).join(', ')}`;
  return required((value) => {
    const { node } = value;
    if (node.type !== 'string') throw value.rejected('wrong_type', expected);
    const found = values.find((each) => each === node.value);
    if (found === undefined) throw value.rejected('unknown_value', expected);
    return found;
  });
}

/** A parameter without the values that the original supports and this vocabulary lacks, with the reasons. */
export function except<T>(param: Param<T>, unsupported: Readonly<Record<string, string>>): Param<T> {
  return {
    ...param,
    read(value) {
      const { node, path } = value;
      if (node.type === 'string' && Object.hasOwn(unsupported, node.value))
        throw new Rejection(
          'unknown_value',
          node,
          `${path} cannot be ${quote(node.value)}: ${unsupported[node.value]}.`,
        );
      return param.read(value);
    },
  };
}

/** A pixel of the screenshot. */
export const x: Param<number> = required((value) => pixel(value, value.axes.x));
export const y: Param<number> = required((value) => pixel(value, value.axes.y));

function pixel(value: Value, axis: Axis): number {
  return axis.read(numberOf(value, 0, axis.max));
}

/** A distance in the coordinate space, as pixels along each axis. */
export const length: Param<{ across: number; down: number }> = required((value) => {
  const found = numberOf(value, 0, 1_000_000);
  return { across: value.axes.x.readLength(found), down: value.axes.y.readLength(found) };
});

/** `[x, y]`, or an object with `x` and `y` among other keys. */
export const place: Param<Point> = required((value) => pointOf(value, partsOf(value.node)));

function pointOf(value: Value, parts: readonly JsonNode[] | null): Point {
  if (parts === null) throw value.rejected('wrong_type', 'a place [x, y]');
  return [pixel(value.part(parts[0]), value.axes.x), pixel(value.part(parts[1]), value.axes.y)];
}

function partsOf(node: JsonNode): readonly JsonNode[] | null {
  if (node.type === 'array') return node.items.length === 2 ? node.items : null;
  if (node.type !== 'object') return null;
  const part = (key: string) => node.entries.find((entry) => entry.key === key)?.node;
  const [across, down] = [part('x'), part('y')];
  return across === undefined || down === undefined ? null : [across, down];
}

/** A list of at least two points, from the start of a drag to its end. */
export const path: Param<Pick<DragAction, 'from' | 'via' | 'to'>> = required((value) => {
  const { node } = value;
  const expected = `a list of 2 to ${MAX_VIA + 2} places`;
  if (node.type !== 'array') throw value.rejected('wrong_type', expected);
  if (node.items.length < 2 || node.items.length > MAX_VIA + 2)
    throw value.rejected('out_of_range', expected);
  const places = node.items.map((item) => pointOf(value.part(item), partsOf(item)));
  const via = places.slice(1, -1);
  return { from: places[0], ...(via.length === 0 ? {} : { via }), to: places[places.length - 1] };
});

/** A point as a member of an object: `{"element": …, "coordinates": [x, y]}`. */
export function placeUnder(key: string): Param<Point> {
  return required((value) => {
    const { node } = value;
    const found = node.type === 'object' ? node.entries.find((entry) => entry.key === key)?.node : undefined;
    if (found === undefined) throw value.rejected('missing_key', `an object with ${quote(key)}: [x, y]`);
    return pointOf(value.part(found), partsOf(found));
  });
}

/** `[x0, y0, x1, y1]`: two corners of a region. */
export const region: Param<{ from: Point; to: Point }> = required((value) => {
  const { node } = value;
  if (node.type !== 'array' || node.items.length !== 4)
    throw value.rejected('wrong_type', 'a region [x0, y0, x1, y1]');
  const [left, top, right, bottom] = node.items;
  const corner = (across: JsonNode, down: JsonNode): Point => [
    edge(value.part(across), value.axes.x),
    edge(value.part(down), value.axes.y),
  ];
  return { from: corner(left, top), to: corner(right, bottom) };
});

/** A pixel, or the last one for the edge behind it. */
function edge(value: Value, axis: Axis): number {
  return axis.read(Math.min(numberOf(value, 0, axis.max + 1), axis.max));
}

/** A list of keys. */
export const keys: Param<string[]> = required((value) => {
  const { node } = value;
  if (node.type !== 'array') throw value.rejected('wrong_type', KEYS);
  return keysOf(
    value,
    node.items.map((item) => {
      if (item.type !== 'string') throw value.part(item).rejected('wrong_type', KEYS);
      return item.value;
    }),
  );
});

const KEYS = `1 to ${MAX_KEYS} keys such as ctrl, a or enter`;

const chordOf = (isSpaced: boolean): Param<string[]> =>
  required((value) => {
    const { node } = value;
    if (node.type !== 'string') throw value.rejected('wrong_type', KEYS);
    // A space is also a key.
    const names = keyOfName(node.value) === null ? namesInChord(node.value, isSpaced) : [node.value];
    if (names === null) throw value.rejected('unknown_value', KEYS);
    return keysOf(value, names);
  });

/** Keys in one string: `ctrl+a`. */
export const chord = chordOf(false);

/** Keys in one string separated by spaces or `+`: `ctrl a`, or `ctrl+a`. */
export const spacedChord = chordOf(true);

export const oneKey: Param<string> = required((value) => {
  const { node } = value;
  if (node.type !== 'string') throw value.rejected('wrong_type', 'the name of a key');
  return keysOf(value, [node.value])[0];
});

function keysOf(value: Value, names: readonly string[]): string[] {
  if (names.length === 0 || names.length > MAX_KEYS) throw value.rejected('out_of_range', KEYS);
  return names.map((name) => {
    const key = keyOfName(name);
    if (key === null) throw value.rejected('unknown_value', KEYS);
    return key;
  });
}

/** Any value; it is ignored. */
export const anything: Param<undefined> = { optional: true, read: () => undefined };

/** Modifier keys held during an action, as a list or as a chord; an empty one counts as none. */
export const modifiers: Param<Modifier[] | undefined> = {
  optional: true,
  read(value) {
    const expected = `keys held meanwhile, of ${MODIFIERS.join(', ')}`;
    const names = namesOf(value.node);
    if (names === null) throw value.rejected('wrong_type', expected);
    const held = modifiersNamed(names);
    if (held === null) throw value.rejected('unknown_value', expected);
    return held.length === 0 ? undefined : held;
  },
};

function namesOf(node: JsonNode): string[] | null {
  if (node.type === 'string') return node.value === '' ? [] : (namesInChord(node.value, false) ?? ['']);
  if (node.type !== 'array') return null;
  const names = node.items.flatMap((item) => (item.type === 'string' ? item.value : []));
  return names.length === node.items.length ? names : null;
}

/** The field of an action during which keys are held. */
export function held(modifiers: Modifier[] | undefined): Modified {
  return modifiers === undefined ? {} : { modifiers };
}
