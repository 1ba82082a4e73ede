import { phrases } from './phrases';

/** One-action instructions. `<target>` is a reference to an element, `<text>` a literal text. */
export const CLICK = phrases(
  [
    'click <target>',
    'click <target>',
    'click on <target>',
    'press <target>',
    'tap <target>',
    'tap on <target>',
    'hit <target>',
    'choose <target>',
    'pick <target>',
    'push <target>',
    'touch <target>',
    'press on <target>',
    'give <target> a click',
    'do a (left|single|) click on <target>',
    '(find|locate|look for) <target> and (click|press|tap) (it|on it)',
    '(use|click) the mouse (to press|on) <target>',
    'move to <target> and click',
    'left-click (on|) <target>',
    '<target> (has to|should|must|is to) be (clicked|pressed)',
    'single-click <target>',
    'trigger <target>',
  ],
  ['put a click on <target>', 'poke <target>', 'point at <target> and press', 'your click goes to <target>'],
);
export const PRESS_BUTTON = phrases(
  ['press <target>', 'push <target>', 'activate <target>', 'use <target>', 'hit <target>', 'click <target>'],
  ['operate <target>'],
);
export const OPEN = phrases(
  [
    'open <target>',
    'go to <target>',
    'follow <target>',
    'visit <target>',
    'open up <target>',
    'click through to <target>',
  ],
  ['head over to <target>'],
);
export const SWITCH_TO = phrases(
  [
    'switch to <target>',
    'go to <target>',
    'open <target>',
    'change to <target>',
    'show <target>',
    'bring <target> to the front',
    'activate <target>',
    'select <target>',
  ],
  ['flip over to <target>', 'turn to <target>'],
);
export const SELECT = phrases(
  [
    'select <target>',
    'choose <target>',
    'pick <target>',
    'pick out <target>',
    'mark <target>',
    'go for <target>',
    'take <target>',
    'make <target> the selected one',
  ],
  ['opt for <target>', 'settle on <target>'],
);
export const CHECK = phrases(
  [
    'check <target>',
    'tick <target>',
    'check off <target>',
    'mark <target>',
    'put a (tick|check mark|check) (in|into|at) <target>',
    'tick off <target>',
    'enable <target>',
  ],
  ['set a check mark in <target>', 'get <target> ticked'],
);
export const UNCHECK = phrases(
  [
    'uncheck <target>',
    'untick <target>',
    'clear <target>',
    'remove the (tick|check mark|check) from <target>',
    'take the (tick|check mark) out of <target>',
    'deselect <target>',
    'make sure <target> is not (checked|ticked)',
    '(leave|set) <target> unchecked',
    'empty <target>',
    'disable <target>',
  ],
  ['get rid of the check mark in <target>'],
);
export const TURN_ON = phrases(
  [
    'switch <target> on',
    'turn <target> on',
    'switch on <target>',
    'set <target> to on',
    'flip <target> on',
    'activate <target>',
    'enable <target>',
  ],
  ['put <target> in the on position', 'bring <target> to life'],
);
export const TURN_OFF = phrases(
  [
    'switch <target> off',
    'turn <target> off',
    'switch off <target>',
    'set <target> to off',
    'flip <target> off',
    'deactivate <target>',
    'disable <target>',
  ],
  ['put <target> in the off position'],
);
export const UNFOLD = phrases(
  [
    'expand <target>',
    'unfold <target>',
    'open <target>',
    'show (what is in|the contents of) <target>',
    'open up <target>',
    'reveal <target>',
  ],
  ['make <target> show its contents'],
);
export const FOLD = phrases(
  [
    'collapse <target>',
    'fold <target>',
    'close <target>',
    'fold up <target>',
    'hide (what is in|the contents of) <target>',
  ],
  ['make <target> hide its contents'],
);
export const FOCUS = phrases(
  [
    'focus <target>',
    'click (in|into|inside) <target>',
    'put the (cursor|caret) (in|into) <target>',
    'place the (cursor|caret) in <target>',
    'go to <target>',
    'give <target> the focus',
    'set the focus to <target>',
    'click <target> to type there',
    'activate <target>',
  ],
  ['get ready to type in <target>', 'move the insertion point to <target>'],
);
export const DROP_DOWN = phrases(
  [
    'open <target>',
    'unfold <target>',
    'pull down <target>',
    'drop down <target>',
    'show the (options|choices) of <target>',
    'expand <target>',
  ],
  ['make <target> show what there is to choose'],
);
export const DOUBLE_CLICK = phrases(
  [
    'double-click <target>',
    'double click <target>',
    'double-click on <target>',
    'click <target> twice (quickly|in quick succession|)',
    'double-tap <target>',
    'do a double click on <target>',
    'open <target> with a double click',
    'give <target> two quick clicks',
    '(make|perform) a double click (on|at) <target>',
    'click (and click again|twice) on <target>',
  ],
  ['click <target> two times in a row'],
);
export const RIGHT_CLICK = phrases(
  [
    'right-click <target>',
    'right click <target>',
    'right-click on <target>',
    'click <target> with the right (mouse|) button',
    'open the context menu of <target>',
    'use the right mouse button on <target>',
    'bring up the context menu (for|on) <target>',
    '(do|make|perform) a right click (on|at) <target>',
    'click <target> using the (right|secondary) button',
  ],
  ['use the secondary button on <target>'],
);
export const HOVER = phrases(
  [
    'hover over <target>',
    'move the (mouse|pointer|cursor) (over|to|onto) <target>',
    'point at <target>',
    'point to <target>',
    'rest the (mouse|pointer) on <target>',
    'hold the (pointer|mouse) over <target> without clicking',
    'let the mouse rest on <target>',
  ],
  ['place the pointer above <target> but do not click'],
);

export const TYPE_FOCUSED = phrases(
  [
    'type <text>',
    'enter <text>',
    'write <text>',
    'input <text>',
    'key in <text>',
    'type in <text>',
    'put in <text>',
    'type the (text|word|words|characters|following:) <text>',
    'enter the (text|word|value) <text>',
    'type <text> (here|where the cursor is|at the cursor|with the keyboard)',
    'type <text> (in|into) the (focused|active|current) (field|box|input)',
    'fill in <text>',
    'write <text> (in|into) the (field|box)',
    'use the keyboard to (type|enter|write) <text>',
    'the text to (type|enter) is <text>',
    'spell out <text>',
    'copy this: <text>',
  ],
  ['make the field say <text>', 'feed <text> to the field', 'hammer in <text>', 'type what follows: <text>'],
);
export const TYPE_INTO = phrases(
  [
    'type <text> (in|into|in the field of) <target>',
    'enter <text> (in|into) <target>',
    'write <text> (in|into) <target>',
    'put <text> (in|into) <target>',
    'fill <target> with <text>',
    'fill in <target> with <text>',
    'fill <text> into <target>',
    'set <target> to <text>',
    'in <target>, (type|enter|write|put) <text>',
    'input <text> into <target>',
    'insert <text> into <target>',
    'make <target> say <text>',
    '<target> (should|must|has to) (contain|say|read|be) <text>',
    'key <text> into <target>',
    'use <text> for <target>',
    'give <target> the (text|value) <text>',
    'for <target>, (type|enter|use) <text>',
  ],
  [
    'let <target> read <text>',
    'have <text> stand in <target>',
    'supply <text> to <target>',
    'write down <text> in <target>',
  ],
);

export const PRESS_KEY = phrases(
  [
    'press <key>',
    'hit <key>',
    'press the <key> key',
    'hit the <key> key',
    'use the <key> key',
    'push <key> on the keyboard',
    'strike the <key> key',
    'press <key> on (the|your) keyboard',
    'tap (the|) <key> (key|) (once|)',
    'type <key>'.replace('type', 'send'),
  ],
  ['give the <key> key a press'],
);
export const SCROLL = phrases(
  [
    'scroll <direction>',
    'scroll <direction> (a bit|a little|some|further|on this page|the page|from here)',
    'move the page <direction>',
    'scroll (the page|the view|) <direction>wards',
    'turn the (mouse|) wheel <direction>',
    'look further <direction>',
    'scroll to see (what is|more) further <direction>',
    'go further <direction> (on|) the page',
    'page <direction>',
  ],
  ['wheel <direction>', 'show me what comes further <direction>'],
);
export const SCROLL_IN = phrases(
  [
    'scroll <direction> in <target>',
    'scroll <target> <direction>',
    'move the contents of <target> <direction>',
    'in <target>, scroll <direction>',
    'scroll <direction> inside <target>',
    'turn the wheel <direction> over <target>',
    '(go|move|look) further <direction> (in|inside) <target>',
    'with the mouse over <target>, scroll <direction>',
    'show what is further <direction> in <target>',
    'wind <target> <direction>',
  ],
  ['wheel <direction> within <target>'],
);
