import type { DateControl } from './control';
import {
  dayOfWeek,
  isAllowed,
  isoDay,
  isoMonth,
  isoWeek,
  MONTHS,
  plusDays,
  plusMonths,
  readDay,
  weekday,
  type Day,
} from './dates';
import { NOTHING, type Effect } from './popup';
import { BOLD, COLORS, type Sketch } from './sketch';

const CELL = 28;
const MARGIN = 11;
const HEADER = 44;
const WEEK_COLUMN = 44;
const ROWS = 6;
const FOOTER = 40;
const YEARS = 12;

/** Maximum year of date controls. */
const MAX_YEAR = 9999;

type View = 'days' | 'months' | 'years';

/**
 * The calendar of a picker: days of a month, months of a year, or years. Scrolling up goes back in time, as in
 * Chromium.
 */
export class Calendar {
  readonly width: number;
  readonly height = HEADER + (ROWS + 1) * CELL + FOOTER;
  /** First day of the displayed month. */
  private shown: Day;
  private view: View;
  private readonly today: Day;

  /** @param choose receives the clicked day: the first of a month, or the Monday of a week */
  constructor(
    private readonly control: DateControl,
    public chosen: Day | null,
    private readonly choose: (day: Day | null) => Effect,
  ) {
    this.today = readDay(control.now)!;
    this.shown = { ...(chosen ?? this.today), day: 1 };
    this.view = control.kind === 'month' ? 'months' : 'days';
    this.width = 7 * CELL + 2 * MARGIN + this.left;
  }

  draw(sketch: Sketch): void {
    this.drawHeader(sketch);
    if (this.view === 'days') this.drawDays(sketch);
    else this.drawGrid(sketch);
    this.drawFooter(sketch);
  }

  scroll(deltaY: number): boolean {
    this.turn(Math.sign(deltaY));
    return true;
  }

  /** Moves the selection by days, weeks or months. Returns whether there is a selectable date. */
  key(name: string): boolean {
    const steps = { left: -1, right: 1, up: -this.columns, down: this.columns }[name];
    const start = this.chosen ?? this.today;
    if (steps !== undefined) return this.goTo(this.plus(start, steps));
    if (name === 'page_up') return this.goTo(plusMonths(start, -1));
    return name === 'page_down' && this.goTo(plusMonths(start, 1));
  }

  /** Left edge of the days, beside the week numbers. */
  private get left(): number {
    return this.control.kind === 'week' ? WEEK_COLUMN : 0;
  }

  private get columns(): number {
    return { month: 3, week: 1, date: 7, 'datetime-local': 7, time: 7 }[this.control.kind];
  }

  private plus(day: Day, steps: number): Day {
    if (this.control.kind === 'month') return plusMonths(day, steps);
    return plusDays(day, this.control.kind === 'week' ? 7 * steps : steps);
  }

  private goTo(day: Day): boolean {
    if (!this.isChoosable(day)) return false;
    this.chosen = day;
    this.shown = { ...day, day: 1 };
    return true;
  }

  private isChoosable(day: Day): boolean {
    if (day.year < 1 || day.year > MAX_YEAR) return false;
    const { kind, min, max } = this.control;
    if (kind === 'datetime-local') {
      const value = isoDay(day);
      return (min === '' || value >= min.slice(0, 10)) && (max === '' || value <= max.slice(0, 10));
    }
    return isAllowed(this.control, valueOfDay(kind, day));
  }

  private turn(by: number): void {
    const months = { days: 1, months: 12, years: 12 * YEARS }[this.view];
    const turned = plusMonths(this.shown, by * months);
    if (turned.year >= 1 && turned.year <= MAX_YEAR) this.shown = turned;
  }

  private drawHeader(sketch: Sketch): void {
    const { year, month } = this.shown;
    const first = this.firstYear;
    const title = {
      days: `${MONTHS[month - 1]} ${year}`,
      months: String(year),
      years: `${first} – ${first + YEARS - 1}`,
    }[this.view];
    const middle = HEADER / 2;
    sketch.text(this.view === 'years' ? title : `${title} ▾`, [MARGIN, middle], COLORS.text, BOLD, 'left');
    const next: Record<View, View> = { days: 'months', months: 'years', years: 'years' };
    sketch.button({ x: MARGIN, y: 8, width: 120, height: 28 }, title, () => {
      this.view = next[this.view];
      return NOTHING;
    });
    const what = { days: 'month', months: 'year', years: 'years' }[this.view];
    for (const by of [-1, 1]) {
      const x = this.width - (by < 0 ? 62 : 30);
      const tip = middle + 7 * by;
      sketch.add(
        {
          op: 'line',
          points: [
            [x + 0.5, middle - 7],
            [x + 0.5, middle + 7],
          ],
          color: COLORS.text,
        },
        {
          op: 'line',
          points: [
            [x - 5, tip - 6 * by],
            [x + 0.5, tip],
            [x + 6, tip - 6 * by],
          ],
          color: COLORS.text,
        },
      );
      sketch.button(
        { x: x - 14, y: 8, width: 28, height: 28 },
        `${by < 0 ? 'previous' : 'next'} ${what}`,
        () => {
          this.turn(by);
          return NOTHING;
        },
      );
    }
  }

  private drawDays(sketch: Sketch): void {
    const isWeek = this.control.kind === 'week';
    const offset = isWeek ? (weekday(this.shown) + 6) % 7 : weekday(this.shown);
    const first = plusDays(this.shown, -offset);
    const names = isWeek ? 'MTWTFSS' : 'SMTWTFS';
    Array.from(names).forEach((name, index) =>
      sketch.text(name, [MARGIN + this.left + (index + 0.5) * CELL, HEADER + CELL / 2], COLORS.text),
    );
    for (let row = 0; row < ROWS; row += 1) {
      const start = plusDays(first, 7 * row);
      const y = HEADER + (row + 1) * CELL;
      if (isWeek) this.drawWeek(sketch, start, y);
      else
        for (let column = 0; column < 7; column += 1)
          this.drawDay(sketch, plusDays(start, column), [column, y]);
    }
  }

  private drawDay(sketch: Sketch, day: Day, [column, y]: [number, number]): void {
    const box = { x: MARGIN + column * CELL, y, width: CELL, height: CELL };
    const isOther = day.month !== this.shown.month;
    const style = {
      name: isoDay(day),
      isSelected: this.chosen !== null && isoDay(this.chosen) === isoDay(day),
      isDisabled: !this.isChoosable(day),
      isMarked: isoDay(day) === isoDay(this.today),
      ...(isOther ? { color: COLORS.muted } : {}),
    };
    sketch.cell(box, String(day.day), style, () => this.choose(day));
  }

  private drawWeek(sketch: Sketch, monday: Day, y: number): void {
    const week = isoWeek(monday);
    const box = { x: MARGIN, y, width: 7 * CELL + this.left, height: CELL };
    const isSelected = this.chosen !== null && isoWeek(this.chosen) === week;
    const isDisabled = !this.isChoosable(monday);
    sketch.cell(box, `W${week.slice(-2)}`, { name: week, isSelected, isDisabled, align: 'left' }, () =>
      this.choose(monday),
    );
    for (let column = 0; column < 7; column += 1) {
      const day = plusDays(monday, column);
      const color = isSelected
        ? COLORS.onAccent
        : isDisabled
          ? COLORS.disabled
          : day.month === this.shown.month
            ? COLORS.text
            : COLORS.muted;
      sketch.text(String(day.day), [MARGIN + this.left + (column + 0.5) * CELL, y + CELL / 2], color);
    }
  }

  /** Draws the months of a year, or years. */
  private drawGrid(sketch: Sketch): void {
    const width = (this.width - 2 * MARGIN) / 3;
    const height = ((ROWS + 1) * CELL) / 4;
    for (let index = 0; index < 12; index += 1) {
      const box = {
        x: MARGIN + (index % 3) * width,
        y: HEADER + Math.floor(index / 3) * height,
        width,
        height,
      };
      if (this.view === 'months')
        this.drawMonth(sketch, { year: this.shown.year, month: index + 1, day: 1 }, box);
      else this.drawYear(sketch, this.firstYear + index, box);
    }
  }

  private drawMonth(sketch: Sketch, month: Day, box: Parameters<Sketch['cell']>[0]): void {
    const isFinal = this.control.kind === 'month';
    const style = {
      name: isoMonth(month),
      isSelected: this.chosen !== null && isoMonth(this.chosen) === isoMonth(month),
      isDisabled: isFinal && !this.isChoosable(month),
      isMarked: isoMonth(month) === isoMonth(this.today),
    };
    sketch.cell(box, MONTHS[month.month - 1].slice(0, 3), style, () => {
      if (isFinal) return this.choose(month);
      this.shown = month;
      this.view = 'days';
      return NOTHING;
    });
  }

  private drawYear(sketch: Sketch, year: number, box: Parameters<Sketch['cell']>[0]): void {
    const style = {
      isSelected: this.chosen?.year === year,
      isDisabled: year < 1 || year > MAX_YEAR,
      isMarked: year === this.today.year,
    };
    sketch.cell(box, String(year), style, () => {
      this.shown = { year, month: this.shown.month, day: 1 };
      this.view = 'months';
      return NOTHING;
    });
  }

  private get firstYear(): number {
    return Math.floor(this.shown.year / YEARS) * YEARS;
  }

  private drawFooter(sketch: Sketch): void {
    const y = this.height - FOOTER;
    const box = { y, width: 70, height: FOOTER };
    if (!this.control.isRequired) {
      sketch.text('Clear', [MARGIN + 8, y + FOOTER / 2], COLORS.link, undefined, 'left');
      sketch.button({ ...box, x: MARGIN }, 'Clear', () => this.choose(null));
    }
    const present = this.presentDay();
    if (!this.isChoosable(present)) return;
    const label = {
      month: 'This month',
      week: 'This week',
      date: 'Today',
      'datetime-local': 'Today',
      time: 'Today',
    }[this.control.kind];
    sketch.text(label, [this.width - MARGIN - 8, y + FOOTER / 2], COLORS.link, undefined, 'right');
    sketch.button({ ...box, x: this.width - MARGIN - box.width }, label, () => this.choose(present));
  }

  private presentDay(): Day {
    if (this.control.kind === 'month') return { ...this.today, day: 1 };
    return this.control.kind === 'week' ? dayOfWeek(isoWeek(this.today))! : this.today;
  }
}

/** Formats a day as the value of a date control. */
export function valueOfDay(kind: DateControl['kind'], day: Day): string {
  if (kind === 'month') return isoMonth(day);
  return kind === 'week' ? isoWeek(day) : isoDay(day);
}
