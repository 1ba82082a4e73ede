import type { Point } from '@ui-rl/plugin-kit';
import { Calendar, valueOfDay } from './calendar';
import { Clock } from './clock';
import type { DateControl } from './control';
import { dayOfWeek, isoDay, isoTime, readDay, readTime, type Day, type Time } from './dates';
import { NOTHING, type Area, type Effect, type PaintOp, type Popup, type Size } from './popup';
import { COLORS, Sketch } from './sketch';

/**
 * The picker for dates, weeks, months or times. Clicking a day, week or month closes it; clicking a time does not.
 */
export class DatePicker implements Popup {
  readonly name: string;
  readonly size: Size;
  private readonly calendar: Calendar | null;
  private readonly clock: Clock | null;

  constructor(private readonly control: DateControl) {
    const { kind, value } = control;
    this.name = `${kind === 'datetime-local' ? 'date and time' : kind} picker`;
    this.calendar =
      kind === 'time' ? null : new Calendar(control, dayOfValue(control), (day) => this.chooseDay(day));
    const hasClock = kind === 'time' || kind === 'datetime-local';
    this.clock = hasClock ? new Clock(control, readTime(value), () => this.current(false)) : null;
    this.size = {
      width: (this.calendar?.width ?? 0) + (this.clock?.width ?? 0),
      height: Math.max(this.calendar?.height ?? 0, this.clock?.height ?? 0),
    };
  }

  paint(): PaintOp[] {
    const whole = { x: 0, y: 0, ...this.size };
    return [
      { op: 'fill', box: whole, color: COLORS.background },
      ...this.draw().ops,
      { op: 'frame', box: whole, color: COLORS.border },
    ];
  }

  areas(): Area[] {
    return this.draw().areas;
  }

  move(): void {
    // Nothing reacts to pointer movement.
  }

  scroll([x]: Point, _deltaX: number, deltaY: number): boolean {
    const left = this.calendar?.width ?? 0;
    if (x < left) return this.calendar!.scroll(deltaY);
    return this.clock?.scroll(x - left, deltaY) ?? false;
  }

  key(name: string): Effect {
    if (name === 'escape') return { choice: { value: this.control.value, isFinal: true }, closes: true };
    if (name === 'enter' || name === 'tab') return this.leave();
    if (this.calendar === null) return this.clock!.key(name);
    return this.calendar.key(name) ? this.current(false) : NOTHING;
  }

  type(): Effect {
    return NOTHING;
  }

  leave(): Effect {
    return { ...this.current(true), closes: true };
  }

  private chooseDay(day: Day | null): Effect {
    this.calendar!.chosen = day;
    if (day === null) return { choice: { value: '', isFinal: true }, closes: true };
    return this.clock === null ? { ...this.current(true), closes: true } : this.current(false);
  }

  /** No effect until a value is selected or the control already has one. */
  private current(isFinal: boolean): Effect {
    const value = this.value();
    return value === null ? NOTHING : { choice: { value, isFinal } };
  }

  private value(): string | null {
    const day = this.calendar?.chosen ?? null;
    const { kind } = this.control;
    if (this.clock === null) return day === null ? null : valueOfDay(kind, day);
    if (kind === 'time') return timeText(this.clock.chosen);
    // The missing part defaults to the current date or time.
    if (day === null && this.clock.chosen === null) return null;
    return `${isoDay(day ?? readDay(this.control.now)!)}T${timeText(this.clock.shown)}`;
  }

  private draw(): Sketch {
    const sketch = new Sketch();
    this.calendar?.draw(sketch);
    this.clock?.draw(sketch, [this.calendar?.width ?? 0, (this.size.height - this.clock.height) / 2]);
    return sketch;
  }
}

function timeText(time: Time): string;
function timeText(time: Time | null): string | null;
function timeText(time: Time | null): string | null {
  return time === null ? null : isoTime(time);
}

function dayOfValue({ kind, value }: DateControl): Day | null {
  if (kind === 'week') return dayOfWeek(value);
  return readDay(kind === 'month' && value !== '' ? `${value}-01` : value);
}
