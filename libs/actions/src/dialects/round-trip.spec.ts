import * as fc from 'fast-check';
import { anyAction } from '../../test/any-action';
import { modifiersOf, refinementsOf, type Action, type Refinement } from '../action';
import { COORDINATE_SPACES } from '../coordinates';
import { keysWithShift } from '../keys';
import { jsonInSpace, WHOLE_SPACES } from '../json-in-space';
import { MAX_KEYS } from '../schema';
import type { ScreenSizes } from '../sizes';
import { dialectFactories, dialects } from './index';

/** No side exceeds the resolution of any coordinate space. */
const sizes: ScreenSizes = {
  screenshot: { width: 720, height: 900 },
  modelImage: { width: 728, height: 924 },
};
const middle = { x: 360, y: 450 };

/** The action as a format can express it; undefined if it cannot express it at all. */
type Loss = (action: Action) => Action | undefined;

const scrollsAtAPlace: Loss = (action) => (action.action === 'scroll' ? { ...middle, ...action } : action);
const swipesAreDrags: Loss = (action) =>
  action.action !== 'swipe' ? action : 'from' in action ? { ...action, action: 'drag' } : undefined;
const hasNo =
  (...names: Action['action'][]): Loss =>
  (action) =>
    names.includes(action.action) ? undefined : action;
const buttons =
  (...names: string[]): Loss =>
  (action) =>
    action.action === 'button' && !names.includes(action.button) ? undefined : action;
const waits =
  (seconds: number): Loss =>
  (action) =>
    action.action === 'wait' ? { action: 'wait', seconds } : action;
const scrollsBy =
  (amount: number): Loss =>
  (action) =>
    action.action === 'scroll' ? { ...action, amount } : action;
const finishesSilently: Loss = (action) =>
  action.action === 'finish' ? { action: 'finish', success: action.success } : action;
/** An empty text is equivalent to none. */
const noEmptyMessage: Loss = (action) =>
  action.action === 'finish' && action.message === ''
    ? { action: 'finish', success: action.success }
    : action;
const succeeds: Loss = (action) => (action.action === 'finish' && !action.success ? undefined : action);
const failsSilently: Loss = (action) =>
  action.action === 'finish' && !action.success ? { action: 'finish', success: false } : action;
const saysShift: Loss = (action) => {
  if (action.action !== 'key') return action;
  const keys = keysWithShift(action.keys);
  return keys.length > MAX_KEYS ? undefined : { ...action, keys };
};
const hasOnly =
  (...refinements: Refinement[]): Loss =>
  (action) =>
    refinementsOf(action).every((each) => refinements.includes(each)) ? action : undefined;
/** Shows windows only by their numbers. */
const showsWindows: Loss = (action) =>
  action.action === 'window' && 'change' in action && ['next', 'previous'].includes(action.change)
    ? undefined
    : action;
const NEW = ['window', 'zoom'] as const;
const HOLDING = ['key_down', 'key_up', 'mouse_down', 'mouse_up'] as const;
/** Presses and releases the button only at a place, or only where the pointer is. */
const buttonsAt =
  (isPlaced: boolean): Loss =>
  (action) =>
    action.action.startsWith('mouse_') && 'x' in action !== isPlaced ? undefined : action;
/** The actions for which the format has modifiers. */
const modifies =
  (...names: Action['action'][]): Loss =>
  (action) =>
    modifiersOf(action).length === 0 || names.includes(action.action) ? action : undefined;
const CLICKS = ['click', 'double_click', 'triple_click', 'right_click', 'middle_click'] as const;
const pressesShortly: Loss = (action) =>
  action.action === 'long_press' ? { action: 'long_press', x: action.x, y: action.y } : action;

const swipesAnyDistance: Loss = (action) => {
  if (action.action !== 'swipe') return action;
  if ('from' in action) return undefined;
  const { distance: _distance, ...rest } = action;
  return rest;
};

const LOSSES: Record<string, Loss[]> = {
  json: [],
  text: [],
  coordinates: [],
  natural: [hasOnly('modifiers', 'seconds')],
  openai_computer: [
    hasNo('long_press', ...HOLDING, ...NEW),
    hasOnly('modifiers', 'via'),
    scrollsAtAPlace,
    swipesAreDrags,
    buttons('back'),
    (action) => (action.action === 'wait' && action.seconds > 0 ? { ...action, seconds: 1 } : action),
    noEmptyMessage,
    saysShift,
  ],
  anthropic_computer: [
    hasNo('long_press', 'button', 'key_down', 'key_up', 'window'),
    hasOnly('modifiers', 'seconds'),
    buttonsAt(false),
    modifies(...CLICKS, 'scroll', 'drag'),
    swipesAreDrags,
    succeeds,
    noEmptyMessage,
  ],
  anthropic_browser: [
    hasNo('long_press', 'key_down', 'key_up'),
    showsWindows,
    hasOnly('modifiers', 'seconds'),
    buttonsAt(true),
    (action) => (action.action === 'key' && (action.seconds ?? 0) > 30 ? undefined : action),
    modifies(...CLICKS),
    scrollsAtAPlace,
    swipesAreDrags,
    buttons('back'),
    succeeds,
    noEmptyMessage,
    (action) => (action.action === 'scroll' && action.amount > 10 ? undefined : action),
    (action) => (action.action === 'wait' && action.seconds > 30 ? undefined : action),
  ],
  gemini_computer: [
    hasOnly(),
    hasNo(...NEW),
    buttonsAt(true),
    scrollsAtAPlace,
    swipesAreDrags,
    buttons('back'),
    succeeds,
    noEmptyMessage,
    saysShift,
  ],
  ui_tars: [
    hasNo('triple_click', 'middle_click', 'move', 'mouse_down', 'mouse_up', ...NEW),
    hasOnly(),
    scrollsAtAPlace,
    scrollsBy(5),
    swipesAreDrags,
    buttons('home', 'back'),
    waits(5),
    failsSilently,
    noEmptyMessage,
  ],
  qwen_computer_use: [
    hasNo('long_press', 'button', ...HOLDING, ...NEW),
    hasOnly(),
    swipesAreDrags,
    failsSilently,
  ],
  qwen_mobile_use: [
    hasOnly(),
    hasNo(...HOLDING, ...NEW),
    hasNo('double_click', 'triple_click', 'right_click', 'middle_click', 'move', 'scroll'),
    (action) =>
      action.action === 'drag'
        ? { ...action, action: 'swipe' }
        : action.action === 'swipe' && !('from' in action)
          ? undefined
          : action,
    (action) =>
      action.action === 'key' && (action.keys.length > 1 || action.keys[0] === 'home') ? undefined : action,
    failsSilently,
  ],
  android_world: [
    hasOnly(),
    hasNo(...HOLDING, ...NEW),
    hasNo('triple_click', 'right_click', 'middle_click', 'move', 'drag'),
    pressesShortly,
    scrollsBy(5),
    swipesAnyDistance,
    (action) => (action.action === 'type' && !action.text.endsWith('\n') ? undefined : action),
    (action) => (action.action === 'key' && action.keys.join() !== 'enter' ? undefined : action),
    buttons('home', 'back'),
    waits(1),
    failsSilently,
  ],
  pyautogui: [hasNo('long_press', 'button', ...NEW), hasOnly(), swipesAreDrags, finishesSilently],
  cua: [
    hasOnly(),
    hasNo(...HOLDING, ...NEW),
    hasNo('double_click', 'triple_click', 'right_click', 'middle_click', 'move'),
    (action) =>
      action.action === 'swipe' && !('from' in action)
        ? { ...action, distance: action.distance ?? 300 }
        : action,
    (action) => (action.action === 'wait' && action.seconds < 0.1 ? undefined : action),
  ],
};
LOSSES.ui_tars_1_5 = [...LOSSES.ui_tars, pressesShortly];

/** The action after a round trip; undefined if it cannot be written. */
function kept(name: string, action: Action): Action | undefined {
  return LOSSES[name].reduce<Action | undefined>((left, loss) => left && loss(left), action);
}

it('is said of every dialect what its words leave out', () => {
  expect(Object.keys(LOSSES).toSorted()).toEqual(Object.keys(dialects).toSorted());
});

const SPACES = Object.entries(dialectFactories).flatMap(([name, { create }]) =>
  COORDINATE_SPACES.map((space) => [name, space, create(space)] as const),
);

describe('printed actions parse to the same actions', () => {
  it.each([...SPACES, ...WHOLE_SPACES.map((space) => ['json', space, jsonInSpace(space)] as const)])(
    'by %s in %s',
    (name, _space, dialect) => {
      fc.assert(
        fc.property(anyAction(sizes.screenshot), (action) => {
          const expected = kept(name, action);
          if (expected === undefined) {
            expect(() => dialect.format([action], sizes)).toThrow(RangeError);
          } else {
            const parsed = dialect.parse(dialect.format([action], sizes), sizes);
            expect(parsed).toEqual({ ok: true, actions: [expected] });
          }
        }),
        { numRuns: 40 },
      );
    },
  );

  it.each(Object.keys(dialectFactories))('by %s, several in an answer', (name) => {
    const dialect = dialects[name];
    // The action that ends the episode is last.
    const before = anyAction(sizes.screenshot).filter(
      (each) => each.action !== 'finish' && kept(name, each) !== undefined,
    );
    fc.assert(
      fc.property(fc.array(before, { minLength: 2, maxLength: 6 }), (actions) => {
        const parsed = dialect.parse(dialect.format(actions, sizes), sizes);
        if (!parsed.ok) throw new Error(parsed.correction);
        expect(dialect.parse(dialect.format(parsed.actions, sizes), sizes)).toEqual(parsed);
        if (!['openai_computer'].includes(name))
          expect(parsed.actions).toEqual(actions.map((action) => kept(name, action)));
      }),
      { numRuns: 40 },
    );
  });
});

describe('a grammar', () => {
  it.each([
    ...Object.entries(dialects),
    ['text in relative_1', dialectFactories.text.create('relative_1')] as const,
  ])('of %s has answers that can be read', (_name, dialect) => {
    const answers = fc.stringMatching(new RegExp(`^(?:${dialect.grammar!(sizes)})$`, 'u'));
    fc.assert(
      fc.property(answers, (answer) => {
        const read = dialect.parse(answer, sizes);
        if (!read.ok) throw new Error(`${answer}: ${read.correction}`);
        expect(dialect.parse(dialect.format(read.actions, sizes), sizes)).toEqual(read);
      }),
      // Generating an answer from a grammar takes a tenth of a second; each run generates others.
      { numRuns: 8 },
    );
  });
});

describe('a description', () => {
  it.each(Object.entries(dialects))('of %s shows answers that can be read', (_name, dialect) => {
    const click = dialect.format([{ action: 'click', x: 83, y: 41 }], sizes);
    expect(dialect.describe(sizes)).toContain(click);
    expect(dialect.parse(click, sizes)).toEqual({ ok: true, actions: [{ action: 'click', x: 83, y: 41 }] });
  });
});

it.each(Object.entries(dialects))(
  '%s never throws and points into the text, for any input',
  (_name, dialect) => {
    const whole = fc.constantFrom(...['click', 'drag', 'type'].map((_each, at) => at)).map((at) =>
      dialect.format(
        [
          [
            { action: 'click', x: 83, y: 41 },
            { action: 'swipe', from: [1, 2], to: [3, 4] },
            { action: 'type', text: 'it\'s "7"\n' },
          ][dialect === dialects.android_world && at === 1 ? 0 : at] as Action,
        ],
        sizes,
      ),
    );
    const hostile = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.json(),
      fc.tuple(whole, fc.nat(), fc.nat(), fc.string()).map(([answer, i, n, insert]) => {
        const from = i % answer.length;
        return answer.slice(0, from) + insert + answer.slice(from + (n % 5));
      }),
    );
    fc.assert(
      fc.property(hostile, (answer) => {
        const result = dialect.parse(answer, sizes);
        if (result.ok) return;
        expect(answer.slice(result.span.start, result.span.end)).toBe(result.span.text);
        expect(result.correction.length).toBeGreaterThan(20);
        expect(result.correction.length).toBeLessThan(900);
      }),
      { numRuns: 150 },
    );
  },
);

describe('with some of the actions', () => {
  const actions = ['click', 'type'] as const;
  const formats = [
    ...Object.entries(dialectFactories).map(
      ([name, { coordinates, create }]) => [name, create(coordinates), create(coordinates, actions)] as const,
    ),
    ...WHOLE_SPACES.map((space) => ['json', jsonInSpace(space), jsonInSpace(space, actions)] as const),
  ];
  const click: Action = { action: 'click', x: 83, y: 41 };
  const finish: Action = { action: 'finish', success: true };

  it.each(formats)('%s describes, allows and reads only these', (_name, whole, some) => {
    const [clicked, finished] = [click, finish].map((action) => whole.format([action], sizes));
    const [allowed, before] = [some, whole].map((each) => new RegExp(`^(?:${each.grammar!(sizes)})$`, 'u'));
    expect([clicked, finished].map((text) => before.test(text))).toEqual([true, true]);
    expect([clicked, finished].map((text) => allowed.test(text))).toEqual([true, false]);
    expect(whole.describe(sizes)).toContain(finished);
    expect(some.describe(sizes)).not.toContain(finished);
    expect(some.describe(sizes)).toContain(' - type text');
    expect(some.parse(clicked, sizes)).toEqual(whole.parse(clicked, sizes));
    expect(some.parse(finished, sizes)).toMatchObject({
      ok: false,
      reason: 'unknown_action',
      correction: 'The action finish is not available here; there are click, type.',
    });
    expect(some.format([click], sizes)).toBe(clicked);
    expect(() => some.format([finish], sizes)).toThrow('limited to click, type');
  });

  it('cannot be limited to actions that the format lacks', () => {
    const { coordinates, create } = dialectFactories.ui_tars;
    expect(() => create(coordinates, ['mouse_up', 'zoom'])).toThrow(
      'the ui_tars format cannot express any of mouse_up, zoom',
    );
    expect(() => create(coordinates, ['mouse_up', 'click'])).not.toThrow();
  });
});
