import type { ScreenTruth } from './truth';

/** Kinds of parts of a page: widgets, and the `records` (mails, posts, files, products) and forms of scenes. */
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
  'records',
  'form',
] as const;

export type WidgetKind = (typeof WIDGET_KINDS)[number];

/** Kinds that a page places one by one; records and forms come with scenes. */
export type PlacedKind = Exclude<WidgetKind, 'records' | 'form'>;

/** An element of a part that can be named: an option, a row, a tab, an item. */
export interface PartItem {
  id: number;
  name: string;
  value?: string;
  /** Id of the item that shows it when it is open. */
  inside?: number;
}

/** Whole pages of the kinds that people know. */
export const SCENE_KINDS = [
  'mail',
  'feed',
  'chat',
  'files',
  'booking',
  'shop',
  'settings',
  'dashboard',
  'form',
  'search',
  'editor',
] as const;

export type SceneKind = (typeof SCENE_KINDS)[number];

/** A control in a row of records: what it does, by its name, and the number of the row among the items, from 0. */
export interface PartAction {
  id: number;
  name: string;
  row: number;
}

/** One widget of a page with its own parameters, so that tasks can be stated from them. */
export interface PagePart {
  /** Id of its main element. */
  id: number;
  kind: WidgetKind;
  name: string;
  /** The tab or the header of a section that shows it when it is open. */
  inside?: number;
  items?: PartItem[];
  /** Actions on the items of records, or on a form. */
  actions?: PartAction[];
  /** The value at the start: text, number, names of chosen options, cells of a table. */
  value?: unknown;
  min?: number;
  max?: number;
  step?: number;
  /** Of a stepper: `field` where its value can be typed. */
  form?: string;
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
  scene?: SceneKind;
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
