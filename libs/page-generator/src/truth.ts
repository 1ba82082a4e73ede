/** [left, top, width, height] in CSS pixels of the page's viewport, at scale 1. */
export type Box = readonly [number, number, number, number];

/** Common names of element kinds. */
export const ELEMENT_KINDS = [
  'button',
  'link',
  'checkbox',
  'radio',
  'select',
  'option',
  'text field',
  'password field',
  'text area',
  'slider',
  'stepper',
  'spin button',
  'tab',
  'menu',
  'menu item',
  'accordion',
  'dialog',
  'list',
  'list item',
  'table',
  'table row',
  'table cell',
  'column header',
  'tree item',
  'date',
  'suggestion',
  'scroll container',
  'drag source',
  'drop target',
  'toggle',
  'icon',
  'shape',
  'grid cell',
  'bar',
  'heading',
  'text',
  'label',
  'image',
  'close button',
  'group',
] as const;

export type ElementKind = (typeof ELEMENT_KINDS)[number];

/** One visible character: not clipped, covered or transparent. Spaces are omitted. */
export interface TruthCharacter {
  text: string;
  box: Box;
}

export interface ElementState {
  checked?: boolean;
  selected?: boolean;
  disabled?: boolean;
  expanded?: boolean;
  focused?: boolean;
}

export interface ElementAttributes {
  color?: string;
  shape?: string;
  size?: string;
  icon?: string;
}

/** One visible element of a page. */
export interface TruthElement {
  /** The same in every state of a page. */
  id: number;
  kind: ElementKind;
  /** Its text, its label, the name of its icon or its placeholder; '' if none. */
  name: string;
  /** Text of a field, value of a slider or stepper, selected option. */
  value?: string;
  /** The visible part. */
  box: Box;
  /** A point at which a click hits this element. */
  center: readonly [number, number];
  interactive: boolean;
  state: ElementState;
  attributes?: ElementAttributes;
  /** Id of its container: dialog, table row, list, menu, group. */
  parent?: number;
  /** Counted from 0, in tables and grids. */
  row?: number;
  column?: number;
  /** Text of the heading above it. */
  under?: string;
  /** Id of the element with its label, if that is a different one. */
  label?: number;
}

/** Everything that is visible on a screen. */
export interface ScreenTruth {
  width: number;
  height: number;
  characters: TruthCharacter[];
  elements: TruthElement[];
}
