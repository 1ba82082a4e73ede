import type { ElementKind } from '@ui-rl/page-generator';

/** Words for an element, and all kinds of elements they may describe. */
export interface Noun {
  /** Synonyms, the usual one first. */
  words: readonly string[];
  kinds: readonly ElementKind[];
}

const TEXT_FIELDS = ['text field', 'password field', 'text area'] as const;

export const NOUNS: readonly Noun[] = [
  { words: ['button'], kinds: ['button', 'close button'] },
  { words: ['link', 'hyperlink'], kinds: ['link'] },
  { words: ['checkbox', 'check box', 'tick box'], kinds: ['checkbox'] },
  { words: ['radio button', 'radio'], kinds: ['radio'] },
  { words: ['option', 'choice'], kinds: ['radio', 'option', 'suggestion'] },
  {
    words: ['dropdown', 'drop-down list', 'select box', 'drop-down menu', 'selection list'],
    kinds: ['select'],
  },
  { words: ['text field', 'text box', 'text input'], kinds: TEXT_FIELDS },
  {
    words: ['field', 'input field', 'input', 'entry field', 'form field'],
    kinds: [...TEXT_FIELDS, 'spin button', 'select'],
  },
  { words: ['password field', 'password box'], kinds: ['password field'] },
  { words: ['text area', 'multi-line field', 'large text box'], kinds: ['text area'] },
  { words: ['slider', 'range slider', 'slide control'], kinds: ['slider'] },
  { words: ['stepper', 'counter'], kinds: ['stepper'] },
  { words: ['spin button', 'number field', 'spinner', 'numeric field'], kinds: ['spin button'] },
  { words: ['tab', 'tab label'], kinds: ['tab'] },
  { words: ['menu item', 'menu entry'], kinds: ['menu item'] },
  { words: ['section', 'section header', 'collapsible section'], kinds: ['accordion'] },
  { words: ['list item', 'list entry', 'item of the list'], kinds: ['list item'] },
  { words: ['cell', 'table cell'], kinds: ['table cell', 'grid cell'] },
  { words: ['column header', 'column heading', 'column title'], kinds: ['column header'] },
  { words: ['tree item', 'tree node', 'node'], kinds: ['tree item'] },
  { words: ['day', 'date'], kinds: ['date'] },
  { words: ['suggestion', 'suggested entry'], kinds: ['suggestion'] },
  { words: ['draggable item', 'draggable card', 'movable item'], kinds: ['drag source'] },
  { words: ['drop zone', 'drop area'], kinds: ['drop target'] },
  { words: ['switch', 'toggle', 'toggle switch'], kinds: ['toggle'] },
  { words: ['icon', 'symbol'], kinds: ['icon'] },
  { words: ['shape', 'figure'], kinds: ['shape'] },
  { words: ['bar'], kinds: ['bar'] },
  { words: ['heading', 'title', 'headline'], kinds: ['heading'] },
  { words: ['text', 'label'], kinds: ['text', 'label'] },
  { words: ['picture', 'image'], kinds: ['image'] },
  { words: ['close button', 'closing button'], kinds: ['close button'] },
  { words: ['dialog', 'popup', 'dialog box'], kinds: ['dialog'] },
  { words: ['list'], kinds: ['list'] },
  { words: ['table'], kinds: ['table'] },
  { words: ['row', 'table row'], kinds: ['table row'] },
  { words: ['menu'], kinds: ['menu'] },
  { words: ['group', 'panel'], kinds: ['group', 'scroll container'] },
];

/** The nouns for a kind of element. */
export function nounsOf(kind: ElementKind): readonly Noun[] {
  return NOUNS.filter(({ kinds }) => kinds.includes(kind));
}
