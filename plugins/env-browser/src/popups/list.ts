import type { Point } from '@ui-rl/plugin-kit';
import type { ListControl, Row } from './control';
import { NOTHING, type Area, type Effect, type PaintOp, type Popup, type Size } from './popup';

/** Maximum visible rows, as in Chromium. */
const MAX_ROWS = 20;
const BORDER = 1;
const PADDING_X = 4;
const PADDING_Y = 4;
const INDENT = 15;
const SEPARATOR_HEIGHT = 9;
const SCROLLBAR = 6;
/** Rows per Page Up or Page Down. */
const PAGE = 10;
/** Pause in milliseconds after which a typed character starts a new search. */
const SEARCH_MS = 1000;

const COLORS = {
  border: '#767676',
  highlight: '#1967d2',
  highlighted: '#ffffff',
  disabled: '#8d8d8d',
  line: '#c4c4c4',
  thumb: '#9e9e9e',
};

/** The open list of a select element, or suggestions for a text field. */
export class ListPopup implements Popup {
  readonly name: string = 'list';
  readonly size: Size;
  private readonly tops: number[];
  private readonly contentHeight: number;
  private top = 0;
  /** Row under the pointer or selected by keys; -1 if none. */
  protected highlighted: number;
  private movedByKeys = false;
  private search = { text: '', at: 0 };

  /** @param room available height: the larger of the spaces above and below the control */
  constructor(
    private readonly control: ListControl,
    room: Size,
    private readonly background = control.background,
  ) {
    const heights = control.rows.map(heightOf);
    this.tops = runningSums(heights);
    this.contentHeight = sum(heights);
    const wanted = sum(heights.slice(0, MAX_ROWS)) + 2 * BORDER;
    const height = Math.max(
      Math.min(wanted, Math.floor(room.height)),
      Math.min(wanted, (heights[0] ?? 0) + 2 * BORDER),
    );
    const bar = this.contentHeight > height - 2 * BORDER ? SCROLLBAR : 0;
    const widest = Math.max(0, ...control.rows.map((row) => row.width + (row.isIndented ? INDENT : 0)));
    const width = Math.max(control.box.width, Math.ceil(widest) + 2 * (PADDING_X + BORDER) + bar);
    this.size = { width: Math.min(Math.round(width), Math.floor(room.width)), height };
    this.highlighted = control.rows.findIndex(
      ({ kind, index }) => kind === 'option' && index === control.selected,
    );
    this.show(this.highlighted);
  }

  paint(): PaintOp[] {
    const { width, height } = this.size;
    const inner = { x: BORDER, y: BORDER, width: width - 2 * BORDER, height: height - 2 * BORDER };
    return [
      { op: 'fill', box: { x: 0, y: 0, width, height }, color: this.background },
      { op: 'clip', box: inner },
      ...this.visible().flatMap((index) => this.paintRow(index)),
      ...this.paintScrollbar(),
      { op: 'clip', box: null },
      { op: 'frame', box: { x: 0, y: 0, width, height }, color: COLORS.border },
    ];
  }

  areas(): Area[] {
    const { rows } = this.control;
    return this.visible()
      .filter((index) => rows[index].kind === 'option')
      .map((index) => {
        const { label, isDisabled } = rows[index];
        return {
          ...{ box: this.boxOf(index), role: 'option' as const, name: label },
          ...stateOf(isDisabled, index === this.highlighted),
          press: () => this.choose(index),
        };
      });
  }

  move(at: Point): void {
    const index = this.visible().find((each) => isIn(at[1], this.boxOf(each)));
    if (index !== undefined && isChoosable(this.control.rows[index])) this.highlighted = index;
  }

  scroll(_at: Point, _deltaX: number, deltaY: number): boolean {
    this.top = clamp(this.top + deltaY, 0, this.contentHeight - this.viewHeight);
    return this.contentHeight > this.viewHeight;
  }

  key(name: string): Effect | null {
    switch (name) {
      case 'enter':
      case 'tab':
        return this.choose(this.highlighted);
      case 'escape':
        return { closes: true };
      case 'down':
        return this.step(1, 1);
      case 'up':
        return this.step(-1, 1);
      case 'page_down':
        return this.step(1, PAGE);
      case 'page_up':
        return this.step(-1, PAGE);
      case 'home':
        return this.step(-1, this.control.rows.length);
      case 'end':
        return this.step(1, this.control.rows.length);
      default:
        return NOTHING;
    }
  }

  /** Selects the next option whose label starts with the typed text, as a select element does. */
  type(character: string): Effect | null {
    const now = performance.now();
    const isNew = now - this.search.at > SEARCH_MS;
    const text = (isNew ? '' : this.search.text) + character.toLowerCase();
    this.search = { text, at: now };
    const isRepeated = Array.from(text).every((each) => each === text[0]);
    const sought = isRepeated ? text[0] : text;
    const { rows } = this.control;
    const from = this.highlighted + (isRepeated ? 1 : 0);
    const order = rows.map((_, index) => (Math.max(from, 0) + index) % rows.length);
    const found = order.find(
      (index) => isChoosable(rows[index]) && rows[index].label.toLowerCase().startsWith(sought),
    );
    if (found !== undefined) this.highlightByKey(found);
    return NOTHING;
  }

  leave(): Effect {
    return this.movedByKeys ? this.choose(this.highlighted) : { closes: true };
  }

  private choose(index: number): Effect {
    const row = this.control.rows[index];
    if (row === undefined) return { closes: true };
    return isChoosable(row) ? { choice: { index: row.index }, closes: true } : NOTHING;
  }

  private step(direction: 1 | -1, times: number): Effect {
    const { rows } = this.control;
    let reached = this.highlighted;
    for (
      let index = this.highlighted + direction, left = times;
      left > 0 && index >= 0 && index < rows.length;
      index += direction
    ) {
      if (!isChoosable(rows[index])) continue;
      reached = index;
      left -= 1;
    }
    if (reached !== this.highlighted) this.highlightByKey(reached);
    return NOTHING;
  }

  private highlightByKey(index: number): void {
    this.highlighted = index;
    this.movedByKeys = true;
    this.show(index);
  }

  /** Scrolls just far enough to show a row. */
  private show(index: number): void {
    if (index < 0) return;
    const top = this.tops[index];
    const bottom = top + heightOf(this.control.rows[index]);
    this.top = clamp(clamp(this.top, bottom - this.viewHeight, top), 0, this.contentHeight - this.viewHeight);
  }

  private get viewHeight(): number {
    return this.size.height - 2 * BORDER;
  }

  private visible(): number[] {
    const bottom = this.top + this.viewHeight;
    return [...this.tops.keys()].filter(
      (index) =>
        this.tops[index] < bottom && this.tops[index] + heightOf(this.control.rows[index]) > this.top,
    );
  }

  private boxOf(index: number) {
    const y = BORDER + this.tops[index] - this.top;
    const shownTop = Math.max(y, BORDER);
    const shownBottom = Math.min(y + heightOf(this.control.rows[index]), this.size.height - BORDER);
    return { x: BORDER, y: shownTop, width: this.size.width - 2 * BORDER, height: shownBottom - shownTop };
  }

  private paintRow(index: number): PaintOp[] {
    const row = this.control.rows[index];
    const whole = {
      x: BORDER,
      y: BORDER + this.tops[index] - this.top,
      width: this.size.width - 2 * BORDER,
      height: heightOf(row),
    };
    const middle = whole.y + whole.height / 2;
    if (row.kind === 'separator') {
      const points: Point[] = [
        [whole.x, middle],
        [whole.x + whole.width, middle],
      ];
      return [{ op: 'line', points, color: COLORS.line }];
    }
    const isHighlighted = index === this.highlighted;
    const { isRtl } = this.control;
    const indent = PADDING_X + (row.isIndented ? INDENT : 0);
    const background = isHighlighted ? COLORS.highlight : row.background;
    return [
      ...(background === '' ? [] : [{ op: 'fill', box: whole, color: background } as const]),
      {
        ...{ op: 'text', text: row.label, font: row.font, width: whole.width - indent - PADDING_X },
        at: [isRtl ? whole.x + whole.width - indent : whole.x + indent, middle],
        color: isHighlighted ? COLORS.highlighted : row.isDisabled ? COLORS.disabled : row.color,
        align: isRtl ? 'right' : 'left',
      },
    ];
  }

  private paintScrollbar(): PaintOp[] {
    if (this.contentHeight <= this.viewHeight) return [];
    const { width } = this.size;
    const height = Math.max(12, (this.viewHeight * this.viewHeight) / this.contentHeight);
    const y = BORDER + ((this.viewHeight - height) * this.top) / (this.contentHeight - this.viewHeight);
    const x = this.control.isRtl ? BORDER : width - BORDER - SCROLLBAR;
    return [
      {
        op: 'fill',
        box: { x, y: Math.round(y), width: SCROLLBAR, height: Math.round(height) },
        color: COLORS.thumb,
      },
    ];
  }
}

function stateOf(isDisabled: boolean, isHighlighted: boolean): Pick<Area, 'state'> {
  if (isDisabled) return { state: 'disabled' };
  return isHighlighted ? { state: 'selected' } : {};
}

function heightOf({ kind, fontSize }: Row): number {
  return kind === 'separator' ? SEPARATOR_HEIGHT : Math.round(fontSize * 1.2) + 2 * PADDING_Y;
}

function isChoosable({ kind, isDisabled }: Row): boolean {
  return kind === 'option' && !isDisabled;
}

function isIn(y: number, box: { y: number; height: number }): boolean {
  return y >= box.y && y < box.y + box.height;
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, Math.max(min, max)));
}

function runningSums(values: readonly number[]): number[] {
  let total = 0;
  return values.map((value) => (total += value) - value);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
