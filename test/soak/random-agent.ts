import type { Action } from '@ui-rl/actions';
import type { Random } from '@ui-rl/random';

const KEYS = [
  'enter',
  'tab',
  'escape',
  'a',
  'Z',
  'ctrl',
  'alt',
  'shift',
  'f5',
  'w',
  'down',
  'page_down',
  'meta',
  '漢',
];
const TEXTS = [
  ...[
    'hello',
    'milk\n',
    '',
    ' ',
    'Ünïcödé 漢字 😀',
    '"; rm -rf / #',
    '$(reboot)',
    '%s%n',
    '<script>alert(1)</script>',
  ],
  'long '.repeat(100),
];
const DIRECTIONS = ['up', 'down', 'left', 'right'] as const;
const SECONDS = [0, 0.01, 0.05];

/** A random action; few are off the screen, and few finish the task. */
export function anything(random: Random, { width, height }: { width: number; height: number }): Action {
  const spread = random.chance(0.03) ? 2 : 1;
  const at = () => ({ x: random.below(width * spread), y: random.below(height * spread) });
  const point = () => [random.below(width), random.below(height)] as const;
  const direction = () => random.pick(DIRECTIONS);
  const kinds: (() => Action)[] = [
    () => ({ action: 'click', ...at() }),
    () => ({ action: 'click', ...at() }),
    () => ({ action: 'click', ...at() }),
    () => ({
      action: random.pick(['double_click', 'triple_click', 'right_click', 'middle_click', 'move'] as const),
      ...at(),
    }),
    () => ({ action: 'long_press', ...at(), seconds: random.pick(SECONDS) }),
    () => ({ action: 'type', text: random.pick(TEXTS) }),
    () => ({ action: 'key', keys: random.shuffled(KEYS).slice(0, 1 + random.below(3)) }),
    () => ({
      action: 'scroll',
      direction: direction(),
      amount: 1 + random.below(5),
      ...(random.chance(0.5) ? at() : {}),
    }),
    () => ({ action: 'drag', from: point(), to: point() }),
    () => ({ action: 'drag', from: point(), via: [point(), point()], to: point(), modifiers: ['shift'] }),
    () => ({ action: random.pick(['mouse_down', 'mouse_up'] as const), ...(random.chance(0.5) ? at() : {}) }),
    () => ({
      action: random.pick(['key_down', 'key_up'] as const),
      key: random.pick(['shift', 'ctrl', 'a']),
    }),
    () => ({ action: 'swipe', direction: direction() }),
    () => ({ action: 'window', change: random.pick(['new', 'close', 'next', 'previous'] as const) }),
    () => ({ action: 'zoom', from: point(), to: point() }),
    () => ({ action: 'button', button: random.pick(['back', 'home', 'recents'] as const) }),
    () => ({ action: 'wait', seconds: random.pick(SECONDS) }),
  ];
  return random.chance(0.01) ? { action: 'finish', success: random.chance(0.5) } : random.pick(kinds)();
}
