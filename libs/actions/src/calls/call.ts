import type { Action } from '../action';
import type { Axes } from '../coordinates';
import type { Entry } from '../json-reader';
import type { ParamReader, Params, ValuesOf } from './params';
import { quote, Rejection } from './rejection';

/** A function call, at any position in the answer. */
export interface Call {
  name: string;
  /** Position of the name. */
  at: { start: number; end: number };
  /** Arguments by name; positional ones by index: `0`, `1` … */
  args: Entry[];
  start: number;
  end: number;
}

/** One function of an action format: its parameters, and the actions that it stands for. */
export interface Verb {
  params: Params;
  /** Names of the positional arguments, in order. */
  positional: readonly string[];
  /** @throws Rejection if its arguments do not fit together */
  read: (values: Record<string, unknown>, axes: Axes, call: Call) => Action[];
  /** Additional arguments that it accepts and ignores. */
  ignored?: Ignored;
}

export function verb<P extends Params>(
  params: P,
  read: (values: ValuesOf<P>, axes: Axes, call: Call) => Action[],
  positional: readonly string[] = [],
): Verb {
  return { params, positional, read: read as Verb['read'] };
}

/** A feature of the original tool that this vocabulary lacks, with the reason. */
export interface Unsupported {
  unsupported: string;
}

export type Verbs = Readonly<Record<string, Verb | Unsupported>>;

/** Arguments that every function accepts and ignores. */
export type Ignored = ReadonlySet<string>;

/**
 * The actions of a call.
 * @throws Rejection
 */
export function readCall(call: Call, verbs: Verbs, reader: ParamReader, ignored: Ignored): Action[] {
  const known = Object.hasOwn(verbs, call.name) ? verbs[call.name] : undefined;
  if (known === undefined) {
    const names = Object.keys(verbs).filter((name) => !('unsupported' in verbs[name]));
    throw new Rejection(
      'unknown_action',
      call.at,
      `There is no action ${quote(call.name)}; there are ${names.join(', ')}.`,
    );
  }
  if ('unsupported' in known)
    throw new Rejection('unknown_action', call.at, `${call.name} is not available: ${known.unsupported}.`);
  return known.read(readArguments(call, known, reader, ignored), reader.axes, call);
}

function readArguments(
  call: Call,
  { params, positional, ignored: ignoredHere }: Verb,
  reader: ParamReader,
  ignored: Ignored,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const seen = new Set<string>();
  for (const entry of call.args) {
    const key = /^\d+$/.test(entry.key) ? (positional[Number(entry.key)] ?? entry.key) : entry.key;
    if (seen.has(key)) throw new Rejection('duplicate_key', entry, `${call.name} has ${quote(key)} twice.`);
    seen.add(key);
    // For every type, null counts as not given.
    if (entry.node.type === 'null') continue;
    if (!Object.hasOwn(params, key)) {
      if (ignored.has(key) || ignoredHere?.has(key) === true) continue;
      throw new Rejection('unknown_key', entry, unknownKey(call.name, key, params));
    }
    values[key] = params[key].read(reader.of(call.name, key, entry.node));
  }
  const missing = Object.keys(params).find((key) => !params[key].optional && values[key] === undefined);
  if (missing !== undefined)
    throw new Rejection('missing_key', call, `${call.name} needs ${quote(missing)}.`);
  return values;
}

function unknownKey(name: string, key: string, params: Params): string {
  const keys = Object.keys(params);
  const known = keys.length === 0 ? 'it has none' : `it has ${keys.map(quote).join(', ')}`;
  return `${name} has no argument ${quote(key)}, ${known}.`;
}
