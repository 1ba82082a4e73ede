import type { Box } from './popup';

/** A row of a select list or of suggestions. */
export interface Row {
  kind: 'option' | 'group' | 'separator';
  label: string;
  /** Index of an option within its list; -1 for other rows. */
  index: number;
  isDisabled: boolean;
  isIndented: boolean;
  /** CSS `font` value. */
  font: string;
  fontSize: number;
  /** Rendered width of the label in CSS pixels. */
  width: number;
  color: string;
  background: string;
}

/** A control with an open popup, as reported by its document. Box in CSS pixels of the document's viewport. */
export type Control = ListControl | DateControl | ColorControl;

export type ListKind = 'list' | 'suggestions' | 'files';

interface ControlBase {
  box: Box;
  isRtl: boolean;
}

export interface ListControl extends ControlBase {
  kind: ListKind;
  rows: Row[];
  /** Index of the selected option; -1 if none. */
  selected: number;
  background: string;
}

export type DateKind = 'date' | 'month' | 'week' | 'time' | 'datetime-local';

export interface DateControl extends ControlBase {
  kind: DateKind;
  /** Formatted as the control's value; empty if unset. */
  value: string;
  min: string;
  max: string;
  step: string;
  isRequired: boolean;
  /** Local time of the page, `2026-01-15T09:05:00`. */
  now: string;
}

export interface ColorControl extends ControlBase {
  kind: 'color';
  /** `#rrggbb` */
  value: string;
}
