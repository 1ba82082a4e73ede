import {
  BUTTONS,
  movePoints,
  refinementsOf,
  type Action,
  type ActionName,
  type Point,
  type Refinement,
} from '../action';
import { axesOf, describeCoordinates, type Axes, type CoordinateSpace } from '../coordinates';
import { formattingOnly, parsingOnly, type Dialect, type ParseFailure, type ParseResult } from '../dialect';
import { ACTION_NAMES, SCHEMA } from '../schema';
import type { ScreenSizes, Size } from '../sizes';
import { CUT_OFF, ONLY_THOUGHTS, readBehindThoughts, type Reading } from '../thoughts';
import type { Call, Ignored, Verbs } from './call';
import { readCall } from './call';
import { grammarOf } from './grammar';
import { ParamReader } from './params';
import { canWrite, penOf, type Pen } from './pen';
import { Rejection } from './rejection';

/** Maximum number of actions in one answer. */
export const MAX_ACTIONS = 64;

/**
 * A part of an answer: a call, or another element that stands for actions (a message that ends the episode), or for
 * none.
 */
export type Part = Call | { actions: readonly Action[]; start: number; end: number };

/** The differences between action formats. */
export interface DialectParts {
  name: string;
  /** The parts of an answer, in order. @throws Rejection */
  read(text: string): Part[];
  verbs: Verbs;
  /** Arguments that every function accepts. */
  ignored?: Ignored;
  /** Merges actions that form one action. */
  merge?(actions: Action[]): Action[];
  /** The refinements that `write` expresses. */
  refinements?: readonly Refinement[];
  /** The calls of an action; undefined if the format cannot express it. */
  write(action: Action, pen: Pen): string[] | undefined;
  /** Joins calls to an answer. */
  join(calls: string[]): string;
  /** Describes how to write an answer, in a sentence or two. */
  form: string;
}

/**
 * Creates an action format with coordinates in a space, and perhaps with some of the actions only.
 * @throws RangeError if the format can express none of these actions
 */
export type CreateDialect = (space: CoordinateSpace, actions?: readonly ActionName[]) => Dialect;

export function dialectOf(parts: DialectParts): CreateDialect {
  return (space, actions = ACTION_NAMES) => {
    const format = (list: readonly Action[], sizes: ScreenSizes): string =>
      write(parts, list, penOf(axesOf(space, sizes), sizes));
    assertExpressible(parts.name, actions, format);
    return {
      parse: parsingOnly(actions, (text, sizes) =>
        parse(parts, text, axesOf(space, sizes), () => exampleOf(format, sizes)),
      ),
      format: formattingOnly(actions, format),
      describe: (sizes) => describe(parts, space, sizes, format, actions),
      grammar: (sizes) =>
        grammarOf(axesOf(space, sizes), (list, pen) => write(parts, list, pen), sizes, actions),
    };
  };
}

const ANY_SIZE: Size = { width: 640, height: 480 };

function assertExpressible(name: string, actions: readonly ActionName[], format: Format): void {
  const sizes = { screenshot: ANY_SIZE, modelImage: ANY_SIZE };
  const isSayable = examples(ANY_SIZE).some(([ways]) =>
    ways.some((action) => actions.includes(action.action) && canWrite(() => format([action], sizes))),
  );
  if (!isSayable) throw new RangeError(`the ${name} format cannot express any of ${actions.join(', ')}`);
}

function parse(parts: DialectParts, text: string, axes: Axes, example: () => string): ParseResult {
  const { value: found, start, isCutOff } = readBehindThoughts(text, (from) => partsFrom(parts, text, from));
  const rest = text.slice(start);
  const actions = isCutOff
    ? new Rejection('no_action', { start: 0, end: rest.length }, CUT_OFF)
    : found instanceof Rejection
      ? found
      : orRejection(() => actionsOf(parts, found, rest, axes));
  if (actions instanceof Rejection) return failure(actions, text, start, example());
  return { ok: true, actions };
}

/** The parts of an answer from an offset on, with positions relative to it. */
function partsFrom(parts: DialectParts, text: string, start: number): Reading<Part[] | Rejection> {
  const found = orRejection(() => parts.read(text.slice(start)));
  if (found instanceof Rejection) return { value: found, parts: null };
  return {
    value: found,
    parts: found.map((part) => ({ start: start + part.start, end: start + part.end })),
  };
}

function orRejection<T>(attempt: () => T): T | Rejection {
  try {
    return attempt();
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
}

/** @throws Rejection */
function actionsOf(parts: DialectParts, found: readonly Part[], text: string, axes: Axes): Action[] {
  const reader = new ParamReader(text, axes);
  const read = found.flatMap((part) =>
    'actions' in part ? part.actions : readCall(part, parts.verbs, reader, parts.ignored ?? NONE),
  );
  const actions = parts.merge?.(read) ?? read;
  refuseCount(actions, text);
  return actions;
}

const NONE: Ignored = new Set();

function refuseCount(actions: readonly Action[], text: string): void {
  const place = { start: 0, end: text.length };
  if (actions.length === 0) throw new Rejection('no_action', place, 'There is no action in the answer.');
  if (actions.length > MAX_ACTIONS)
    throw new Rejection(
      'out_of_range',
      place,
      `There are ${actions.length} actions, at most ${MAX_ACTIONS} are carried out.`,
    );
}

/** @param start of the parsed text, after the thoughts */
function failure(
  { reason, place, message }: Rejection,
  text: string,
  start: number,
  example: string,
): ParseFailure {
  const span = { start: start + place.start, end: start + place.end };
  const why = start > 0 && reason === 'no_action' ? `${message} ${ONLY_THOUGHTS}` : message;
  return {
    ok: false,
    reason,
    span: { ...span, text: text.slice(span.start, span.end) },
    correction: `${why} Answer in this form: ${example}`,
  };
}

function write({ name, ...parts }: DialectParts, actions: readonly Action[], pen: Pen): string {
  if (actions.length === 0) throw new RangeError('an answer has at least one action, found none');
  const calls = actions.flatMap((action) => {
    const isSayable = refinementsOf(action).every((each) => parts.refinements?.includes(each));
    const written = isSayable ? parts.write(action, pen) : undefined;
    if (written === undefined)
      throw new RangeError(`the ${name} dialect has no words for ${JSON.stringify(action)}`);
    return written;
  });
  return parts.join(calls);
}

type Format = (actions: readonly Action[], sizes: ScreenSizes) => string;

/** A click in the action format. */
function exampleOf(format: Format, sizes: ScreenSizes): string {
  return format([onScreen({ action: 'click', x: 83, y: 41 }, sizes.screenshot)], sizes);
}

function describe(
  parts: DialectParts,
  space: CoordinateSpace,
  sizes: ScreenSizes,
  format: Format,
  actions: readonly ActionName[],
): string {
  const shown = examples(sizes.screenshot).flatMap(([ways, meaning]) => {
    const said = ways.find(
      (action) => actions.includes(action.action) && canWrite(() => format([action], sizes)),
    );
    return said === undefined ? [] : [`${format([said], sizes)} - ${meaning}`];
  });
  return [
    'You see a screenshot and answer with one action, or with several that are carried out in order.',
    `${parts.form} ${describeCoordinates(space, axesOf(space, sizes))}`,
    'The actions, by example:',
    ...shown,
  ].join('\n');
}

/** Candidate actions of each kind; the first one that a format can express is shown. */
function examples(screen: Size): [Action[], string][] {
  const shown = ACTION_NAMES.filter((name) => name !== 'button' && name !== 'finish').flatMap((name) =>
    SCHEMA[name].map(({ example, meaning }): [Action[], string] => [
      [example, ...(OTHER_EXAMPLES[name] ?? [])].map((action) => onScreen(action, screen)),
      meaning,
    ]),
  );
  const buttons = BUTTONS.map((button): [Action[], string] => [
    [{ action: 'button', button }],
    `press the button ${button} of the device`,
  ]);
  return [
    ...shown,
    ...REFINED.map(([action, meaning]): [Action[], string] => [[onScreen(action, screen)], meaning]),
    ...buttons,
    [[{ action: 'finish', success: true }], 'the task is done'],
    [[{ action: 'finish', success: true, message: 'The answer is 7.' }], 'the task is done, with an answer'],
    [[{ action: 'finish', success: false }], 'the task cannot be done'],
  ];
}

const REFINED: [Action, string][] = [
  [{ action: 'click', x: 83, y: 41, modifiers: ['ctrl', 'shift'] }, 'click while keys are held'],
  [{ action: 'key', keys: ['down'], seconds: 2 }, 'hold keys for seconds'],
  [{ action: 'drag', from: [20, 80], via: [[60, 40]], to: [120, 80] }, 'drag along a path'],
];

const OTHER_EXAMPLES: Partial<Record<string, Action[]>> = {
  type: [{ action: 'type', text: 'hello\n' }],
  key: [{ action: 'key', keys: ['enter'] }],
  mouse_down: [{ action: 'mouse_down' }],
  mouse_up: [{ action: 'mouse_up' }],
};

/** The action with its points moved onto a small screen. */
export function onScreen(action: Action, { width, height }: Size): Action {
  return movePoints(action, ([x, y]: Point) => [Math.min(x, width - 1), Math.min(y, height - 1)]);
}
