import {
  COORDINATE_SPACES,
  dialectFactories,
  dialects,
  jsonInSpace,
  PARSE_FAILURES,
  WHOLE_SPACES,
  type Action,
  type Dialect,
  type ScreenSizes,
} from '@ui-rl/actions';
import { OUTPUTS } from '../../libs/actions/test/outputs';
import type { Target } from './target';

/** Maximum CPU time for one answer: a hundred times that of the longest generated ones. */
const MOST_MS = 2_000;

/** A phone, a desktop that the model sees downscaled, and a tiny screen. */
const SCREENS: readonly ScreenSizes[] = [
  { screenshot: { width: 160, height: 224 }, modelImage: { width: 160, height: 224 } },
  { screenshot: { width: 1920, height: 1080 }, modelImage: { width: 1288, height: 728 } },
  { screenshot: { width: 3, height: 1 }, modelImage: { width: 28, height: 28 } },
];

const ANSWERS = [
  '{"action":"click","x":3,"y":4}',
  '{"action":"type","text":"a\\u00e9\\n\\"","enter":true}',
  'I will. {"action":"scroll","direction":"down","amount":3}',
  '{"action":"finish","success":true,"message":""}',
];

const ACTIONS: Action[] = [
  { action: 'click', x: 2, y: 0 },
  { action: 'drag', from: [1, 0], to: [2, 0] },
  { action: 'type', text: 'a\u00e9\\ \'b\' "c"\n' },
  { action: 'key', keys: ['ctrl', 'a'] },
  { action: 'key', keys: ['down'], seconds: 2 },
  { action: 'key_down', key: 'shift' },
  { action: 'mouse_down' },
  { action: 'mouse_up', x: 2, y: 0 },
  { action: 'click', x: 2, y: 0, modifiers: ['ctrl', 'shift'] },
  { action: 'drag', from: [1, 0], via: [[0, 0]], to: [2, 0] },
  { action: 'scroll', direction: 'down', amount: 3, x: 1, y: 0 },
  { action: 'swipe', direction: 'up', distance: 100 },
  { action: 'long_press', x: 1, y: 0, seconds: 2 },
  { action: 'button', button: 'back' },
  { action: 'window', change: 'next' },
  { action: 'window', number: 2 },
  { action: 'zoom', from: [0, 0], to: [2, 0] },
  { action: 'wait', seconds: 1 },
  { action: 'finish', success: true, message: 'done' },
  { action: 'finish', success: false },
];

/**
 * Valid answers of an action format, as written by models and by the format itself, with one action and several; and
 * answers of other formats.
 */
function answersOf(name: string, dialect: Dialect): string[] {
  const documented = OUTPUTS.filter(([of]) => of === name).map(([, answer]) => answer);
  const written = [...ACTIONS.map((action) => [action]), ACTIONS.slice(0, 2), ACTIONS].flatMap((actions) => {
    try {
      return [dialect.format(actions, SCREENS[0])];
    } catch (error) {
      // The format does not support one of the actions.
      if (error instanceof RangeError) return [];
      throw error;
    }
  });
  return [...ANSWERS, ...documented, ...written, `I think so.\n${written[0]}`];
}

/** An action format with each of its coordinate spaces. */
function spacesOf(name: string): Dialect[] {
  if (!Object.hasOwn(dialectFactories, name)) return WHOLE_SPACES.map((space) => jsonInSpace(space));
  return COORDINATE_SPACES.map((space) => dialectFactories[name].create(space));
}

/**
 * A parser of answers never throws; a refusal says why, where, and what is expected instead; a parsed answer can be
 * formatted, and parses to the same actions again, or to neighboring ones with the same text.
 */
function feedTo(dialect: Dialect, sizes: ScreenSizes, answer: string): boolean {
  const parsed = dialect.parse(answer, sizes);
  if (!parsed.ok) {
    const { reason, span, correction } = parsed;
    const isSaid = PARSE_FAILURES.includes(reason) && correction.length > 0 && correction.length <= 2_000;
    if (isSaid && answer.slice(span.start, span.end) === span.text) return false;
    throw new Error(`a refusal that is none: ${JSON.stringify(parsed).slice(0, 1_000)}`);
  }
  const { actions } = parsed;
  const form = dialect.format(actions, sizes);
  const again = dialect.parse(form, sizes);
  if (JSON.stringify(again) === JSON.stringify(parsed)) return true;
  const isCoarse = sizes.screenshot.width > 1000;
  if (
    isCoarse &&
    again.ok &&
    areNeighbours(actions, again.actions) &&
    dialect.format(again.actions, sizes) === form
  )
    return true;
  throw new Error(`what was read is not what its own form reads as: ${JSON.stringify({ parsed, again })}`);
}

const PLACES: readonly string[] = ['x', 'y', 'from', 'via', 'to'];

/**
 * The center of a box may be a pixel that no integer of the coordinate space maps to, if those are coarser than
 * pixels: then its neighbor is written. Everything except positions must be equal.
 */
function areNeighbours(actions: readonly Action[], others: readonly Action[]): boolean {
  const rest = (of: readonly Action[]) =>
    JSON.stringify(of, (key, value: unknown) => (PLACES.includes(key) ? null : value));
  const places = (of: readonly Action[]) =>
    of.flatMap((action) =>
      PLACES.flatMap((name) => [(action as unknown as Record<string, number>)[name] ?? []].flat(3)),
    );
  const found = places(others);
  return (
    rest(actions) === rest(others) &&
    places(actions).every((number, index) => Math.abs(number - found[index]) <= 1)
  );
}

/** In these units an answer may contain lone surrogates, like escapes in JSON. */
const ENCODING = 'utf16le';

/** Model answers, by action format. The length of an answer selects its screen and coordinate space. */
export const answerTargets: readonly Target[] = Object.entries(dialects).map(([name, dialect]): Target => {
  const samples = answersOf(name, dialect);
  const spaces = [dialect, ...spacesOf(name)];
  return {
    name: `answer/${name}`,
    mostMs: MOST_MS,
    input: (mutator) => Buffer.from(mutator.answer(samples), ENCODING),
    feed: (input) => {
      const answer = Buffer.from(input).toString(ENCODING);
      const space = spaces[answer.length % spaces.length];
      return feedTo(space, SCREENS[Math.floor(answer.length / spaces.length) % SCREENS.length], answer);
    },
  };
});
