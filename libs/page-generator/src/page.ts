import type { ScreenTruth } from './truth';

/** Kinds of page parts: widgets, and the `records` (mails, posts, files, products) and forms of scenes. */
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

/** Kinds that a page places individually; records and forms are part of scenes. */
export type PlacedKind = Exclude<WidgetKind, 'records' | 'form'>;

/** A nameable element of a part: an option, a row, a tab, an item. */
export interface PartItem {
  id: number;
  name: string;
  value?: string;
  /** Id of the item that reveals it when open. */
  inside?: number;
}

/** Complete pages of familiar kinds. */
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

/** A control in a row of records: its effect, by name, and the index of the row among the items. */
export interface PartAction {
  id: number;
  name: string;
  row: number;
}

/** One widget of a page with its parameters, from which tasks can be generated. */
export interface PagePart {
  /** Id of its main element. */
  id: number;
  kind: WidgetKind;
  name: string;
  /** The tab or section header that reveals it when open. */
  inside?: number;
  items?: PartItem[];
  /** Actions on the items of records, or on a form. */
  actions?: PartAction[];
  /** The initial value: text, number, names of selected options, cells of a table. */
  value?: unknown;
  min?: number;
  max?: number;
  step?: number;
  /** For a stepper: `field` if its value can be typed. */
  form?: string;
  /** For a date picker: its date format, such as `Y-M-D`, and the initially displayed year and month. */
  format?: string;
  month?: readonly [number, number];
}

/** A page before rendering. Equal seeds, options and assets give equal bytes. */
export interface GeneratedPage {
  seed: number;
  width: number;
  height: number;
  html: string;
  parts: PagePart[];
  scene?: SceneKind;
  /** Digest of the names and versions of the installed fonts and icon sets. */
  assets: string;
}

export interface Viewport {
  width: number;
  height: number;
}

/** A rendered page: 3 bytes (red, green, blue) per pixel, row by row. */
export interface Screen {
  seed: number;
  width: number;
  height: number;
  rgb: Uint8Array;
  truth: ScreenTruth;
}
