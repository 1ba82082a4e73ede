import type { Box } from './popup';

/** A row of a select list or of suggestions. */
export interface Row {
  kind: 'option' | 'group' | 'separator';
  label: string;
  /** Of an option among the options of its list; -1 of other rows. */
  index: number;
  isDisabled: boolean;
  isIndented: boolean;
  /** As CSS writes it. */
  font: string;
  fontSize: number;
  /** Of the label as it is drawn, in CSS pixels. */
  width: number;
  color: string;
  background: string;
}

/** A control with an open popup, as its document tells it. Box in CSS pixels of its document's view. */
export type Control = ListControl | DateControl | ColorControl;

export type ListKind = 'list' | 'suggestions';

interface ControlBase {
  box: Box;
  isRtl: boolean;
}

export interface ListControl extends ControlBase {
  kind: ListKind;
  rows: Row[];
  /** Index of the selected option; -1: none. */
  selected: number;
  background: string;
}

export type DateKind = 'date' | 'month' | 'week' | 'time' | 'datetime-local';

export interface DateControl extends ControlBase {
  kind: DateKind;
  /** As the control has them; empty where it has none. */
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
