import type { ScreenTruth } from './truth';

/** What a page can be made of. */
export const WIDGET_KINDS = [
  'text',
  'heading',
  'buttons',
  'links',
  'checkboxes',
  'radios',
  'select',
  'field',
  'password',
  'text area',
  'list',
  'table',
  'tabs',
  'toggles',
  'slider',
  'stepper',
  'spin button',
  'menu',
  'icons',
  'shapes',
  'accordion',
  'dialog',
  'scroll container',
  'autocomplete',
  'date picker',
  'drag and drop',
  'sortable list',
  'tree',
  'grid',
  'chart',
  'image',
] as const;

export type WidgetKind = (typeof WIDGET_KINDS)[number];

/** An element of a part that can be named: an option, a row, a tab, an item. */
export interface PartItem {
  id: number;
  name: string;
  value?: string;
}

/** One widget of a page with its own parameters, so that tasks can be stated from them. */
export interface PagePart {
  /** Id of its main element. */
  id: number;
  kind: WidgetKind;
  name: string;
  items?: PartItem[];
  /** The value at the start: text, number, names of chosen options, cells of a table. */
  value?: unknown;
  min?: number;
  max?: number;
  step?: number;
  /** Of a date picker: how it writes a date, such as `Y-M-D`, and the year and month that it shows at first. */
  format?: string;
  month?: readonly [number, number];
}

/** A page before it is drawn. Equal seeds, options and assets give equal bytes. */
export interface GeneratedPage {
  seed: number;
  width: number;
  height: number;
  html: string;
  parts: PagePart[];
  /** Digest of the names and versions of the fonts and icon sets that were installed. */
  assets: string;
}

export interface Viewport {
  width: number;
  height: number;
}

/** A page as drawn: 3 bytes (red, green, blue) per pixel, row by row. */
export interface Screen {
  seed: number;
  width: number;
  height: number;
  rgb: Uint8Array;
  truth: ScreenTruth;
}
