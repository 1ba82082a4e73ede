import type { Point } from '@ui-rl/plugin-kit';
import type { DateControl } from './control';
import { isAllowed, isoTime, pad, readTime, type Time } from './dates';
import { NOTHING, type Effect } from './popup';
import type { Sketch } from './sketch';

const COLUMN = 56;
const ROW = 36;
const ROWS = 7;
const MARGIN = 4;
/** Rows to scroll per CSS pixel of wheel movement. */
const ROWS_PER_PIXEL = 1 / ROW;

interface Column {
  name: string;
  /** Values of this part of the time, in display order. */
  values: number[];
  label: (value: number) => string;
  read: (time: Time) => number;
  write: (time: Time, value: number) => Time;
}

/**
 * The columns of a time picker: hours, minutes, seconds if the control has them, AM and PM. Long columns wrap around.
 */
export class Clock {
  readonly width: number;
  readonly height = ROWS * ROW + 2 * MARGIN;
  private readonly columns: Column[];
  /** Index of the topmost value of each column. */
  private readonly tops: number[];
  /** Column that keys change. */
  private focused = 0;

  /** @param choose receives the selected time */
  constructor(
    private readonly control: DateControl,
    public chosen: Time | null,
    private readonly choose: (time: Time) => Effect,
  ) {
    this.columns = columnsOf(control);
    this.width = this.columns.length * COLUMN + 2 * MARGIN;
    const { shown } = this;
    this.tops = this.columns.map(({ values, read }) =>
      values.length > ROWS ? nearest(values, read(shown)) : 0,
    );
  }

  /** The selected time, or the page's current time, from which the first click starts. */
  get shown(): Time {
    return this.chosen ?? { ...readTime(this.control.now)!, second: 0 };
  }

  draw(sketch: Sketch, [left, top]: Point): void {
    this.columns.forEach((column, index) => {
      const count = Math.min(ROWS, column.values.length);
      for (let row = 0; row < count; row += 1) {
        const value = column.values[(this.tops[index] + row) % column.values.length];
        const box = {
          x: left + MARGIN + index * COLUMN,
          y: top + MARGIN + row * ROW,
          width: COLUMN,
          height: ROW,
        };
        this.drawValue(sketch, column, value, box);
      }
    });
  }

  scroll(x: number, deltaY: number): boolean {
    const index = Math.floor((x - MARGIN) / COLUMN);
    const column = this.columns[index];
    if (column === undefined || column.values.length <= ROWS) return false;
    const rows = Math.sign(deltaY) * Math.max(1, Math.round(Math.abs(deltaY) * ROWS_PER_PIXEL));
    this.tops[index] = wrapped(this.tops[index] + rows, column.values.length);
    return true;
  }

  key(name: string): Effect {
    if (name === 'left' || name === 'right') {
      this.focused = wrapped(this.focused + (name === 'left' ? -1 : 1), this.columns.length);
      return NOTHING;
    }
    if (name !== 'up' && name !== 'down') return NOTHING;
    const { values, read, write } = this.columns[this.focused];
    const place = wrapped(nearest(values, read(this.shown)) + (name === 'up' ? -1 : 1), values.length);
    return this.set(write(this.shown, values[place]));
  }

  private drawValue(sketch: Sketch, column: Column, value: number, box: Parameters<Sketch['cell']>[0]): void {
    const time = column.write(this.shown, value);
    const label = column.label(value);
    const style = {
      name: column.name === '' ? label : `${label} ${column.name}`,
      isSelected: column.read(this.shown) === value,
      isDisabled: this.control.kind === 'time' && !this.isReachable(column, time),
    };
    sketch.cell(box, label, style, () => this.set(time));
  }

  /** An hour is selectable if any of its minutes is allowed. */
  private isReachable({ name }: Column, time: Time): boolean {
    const minutes = name === 'hours' ? [0, time.minute, 59] : [time.minute];
    return minutes.some((minute) => isAllowed(this.control, isoTime({ ...time, minute })));
  }

  private set(time: Time): Effect {
    this.chosen = time;
    return this.choose(time);
  }
}

function columnsOf({ step, value }: DateControl): Column[] {
  const seconds = step === 'any' || step === '' ? 60 : Number(step);
  const hasSeconds = seconds % 60 !== 0 || (readTime(value)?.second ?? 0) !== 0;
  const minuteStep = !hasSeconds && 3600 % seconds === 0 ? seconds / 60 : seconds % 3600 === 0 ? 60 : 1;
  const secondStep = 60 % seconds === 0 ? seconds : 1;
  const columns: Column[] = [
    {
      ...{ name: 'hours', values: range(12, 1), label: (value) => pad(value === 0 ? 12 : value) },
      read: ({ hour }) => hour % 12,
      write: (time, hour) => ({ ...time, hour: hour + (time.hour >= 12 ? 12 : 0) }),
    },
    {
      ...{ name: 'minutes', values: range(60, minuteStep), label: pad },
      read: ({ minute }) => minute,
      write: (time, minute) => ({ ...time, minute }),
    },
    {
      ...{ name: 'seconds', values: range(60, secondStep), label: pad },
      read: ({ second }) => second,
      write: (time, second) => ({ ...time, second }),
    },
    {
      ...{ name: '', values: [0, 12], label: (value) => (value === 0 ? 'AM' : 'PM') },
      read: ({ hour }) => (hour < 12 ? 0 : 12),
      write: (time, half) => ({ ...time, hour: (time.hour % 12) + half }),
    },
  ];
  return columns.filter(({ name }) => name !== 'seconds' || hasSeconds);
}

function range(end: number, step: number): number[] {
  return Array.from({ length: Math.ceil(end / step) }, (_, index) => index * step);
}

/** Index of the largest value that is at most `sought`. */
function nearest(values: readonly number[], sought: number): number {
  return Math.max(
    0,
    values.findLastIndex((value) => value <= sought),
  );
}

function wrapped(index: number, length: number): number {
  return ((index % length) + length) % length;
}
