import * as fc from 'fast-check';
import {
  BUTTONS,
  DIRECTIONS,
  KEY_NAMES,
  MODIFIERS,
  POINT_ACTIONS,
  WINDOW_CHANGES,
  type Action,
} from '../src/action';

/** Any action with its points on a screen. */
export function anyAction({ width, height }: { width: number; height: number }): fc.Arbitrary<Action> {
  const x = fc.integer({ min: 0, max: width - 1 });
  const y = fc.integer({ min: 0, max: height - 1 });
  const point = fc.tuple(x, y);
  const at = fc.oneof(fc.constant({}), fc.record({ x, y }));
  const seconds = fc.integer({ min: 0, max: 240 }).map((quarters) => quarters / 4);
  const direction = fc.constantFrom(...DIRECTIONS);
  const text = fc.string({ unit: 'binary', maxLength: 40 });
  const key = fc.oneof(
    fc.constantFrom(...KEY_NAMES),
    fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }).filter((each) => each !== ' '),
  );
  const optional = (shape: Record<string, fc.Arbitrary<unknown>>) => fc.record(shape, { requiredKeys: [] });
  const joined = (...parts: fc.Arbitrary<object>[]) =>
    fc.tuple(...parts).map((each) => Object.assign({}, ...each) as object);
  const held = fc.oneof(
    { weight: 2, arbitrary: fc.constant({}) },
    fc.subarray([...MODIFIERS], { minLength: 1 }).map((modifiers) => ({ modifiers })),
  );
  return fc.oneof(
    joined(fc.record({ action: fc.constantFrom(...POINT_ACTIONS), x, y }), held),
    joined(fc.record({ action: fc.constant('long_press'), x, y }), optional({ seconds })),
    fc.record({
      action: fc.constant('type'),
      text: fc.oneof(
        text,
        text.map((each) => `${each}\n`),
      ),
    }),
    joined(
      fc.record({ action: fc.constant('key'), keys: fc.array(key, { minLength: 1, maxLength: 5 }) }),
      optional({ seconds }),
    ),
    fc.record({ action: fc.constantFrom('key_down', 'key_up'), key }),
    joined(fc.record({ action: fc.constantFrom('mouse_down', 'mouse_up') }), at),
    joined(
      fc.record({ action: fc.constant('scroll'), direction, amount: fc.integer({ min: 1, max: 50 }) }),
      at,
      held,
    ),
    joined(
      fc.record({ action: fc.constant('drag'), from: point, to: point }),
      optional({ via: fc.array(point, { minLength: 1, maxLength: 100 }) }),
      held,
    ),
    fc.record({ action: fc.constant('swipe'), from: point, to: point }),
    joined(
      fc.record({ action: fc.constant('swipe'), direction }),
      optional({ distance: fc.integer({ min: 1, max: 999 }) }),
      at,
    ),
    fc.record({ action: fc.constant('button'), button: fc.constantFrom(...BUTTONS) }),
    fc.record({ action: fc.constant('window'), change: fc.constantFrom(...WINDOW_CHANGES) }),
    fc.record({ action: fc.constant('window'), number: fc.integer({ min: 1, max: 99 }) }),
    fc.record({ action: fc.constant('zoom'), from: point, to: point }),
    fc.record({ action: fc.constant('wait'), seconds }),
    joined(fc.record({ action: fc.constant('finish'), success: fc.boolean() }), optional({ message: text })),
  ) as fc.Arbitrary<Action>;
}
