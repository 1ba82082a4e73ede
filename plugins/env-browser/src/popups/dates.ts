import type { DateControl } from './control';

/** A calendar date without a time zone; months from 1 to 12. */
export interface Day {
  year: number;
  month: number;
  day: number;
}

/** Hours from 0 to 23. */
export interface Time {
  hour: number;
  minute: number;
  second: number;
}

export const MONTHS = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];

const DAY_MS = 86_400_000;
/** Monday of ISO week 1970-W02, from which weeks are counted. */
const WEEK_BASE = Date.UTC(1970, 0, 5);

export function pad(value: number, length = 2): string {
  return String(value).padStart(length, '0');
}

export function isoDay({ year, month, day }: Day): string {
  return `${pad(year, 4)}-${pad(month)}-${pad(day)}`;
}

export function isoMonth({ year, month }: Pick<Day, 'year' | 'month'>): string {
  return `${pad(year, 4)}-${pad(month)}`;
}

/** `09:05`, with seconds if they are not 0. */
export function isoTime({ hour, minute, second }: Time): string {
  return `${pad(hour)}:${pad(minute)}${second !== 0 ? `:${pad(second)}` : ''}`;
}

/** Parses `2026-01-15`, or text that starts with it. */
export function readDay(text: string): Day | null {
  const found = /^(\d{4,6})-(\d\d)-(\d\d)/.exec(text);
  return found === null ? null : { year: Number(found[1]), month: Number(found[2]), day: Number(found[3]) };
}

/** Parses `09:05` or `09:05:30`, also after a date and `T`. */
export function readTime(text: string): Time | null {
  const found = /(?:^|T)(\d\d):(\d\d)(?::(\d\d))?/.exec(text);
  return found === null
    ? null
    : { hour: Number(found[1]), minute: Number(found[2]), second: Number(found[3] ?? 0) };
}

export function plusDays({ year, month, day }: Day, days: number): Day {
  return dayOf(utc({ year, month, day }) + days * DAY_MS);
}

export function plusMonths({ year, month }: Pick<Day, 'year' | 'month'>, months: number): Day {
  const index = year * 12 + (month - 1) + months;
  return { year: Math.floor(index / 12), month: (((index % 12) + 12) % 12) + 1, day: 1 };
}

/** 0 is Sunday. */
export function weekday(day: Day): number {
  return new Date(utc(day)).getUTCDay();
}

/** The ISO 8601 week of a day, such as `2026-W03`. */
export function isoWeek(day: Day): string {
  const thursday = plusDays(day, 3 - ((weekday(day) + 6) % 7));
  const first = utc({ year: thursday.year, month: 1, day: 1 });
  const week = Math.floor((utc(thursday) - first) / (7 * DAY_MS)) + 1;
  return `${pad(thursday.year, 4)}-W${pad(week)}`;
}

/** The Monday of a week such as `2026-W03`. */
export function dayOfWeek(text: string): Day | null {
  const found = /^(\d{4,6})-W(\d\d)$/.exec(text);
  if (found === null) return null;
  const fourth: Day = { year: Number(found[1]), month: 1, day: 4 };
  return plusDays(fourth, 7 * (Number(found[2]) - 1) - ((weekday(fourth) + 6) % 7));
}

/** Whether the control's `min`, `max` and `step` allow a value. Values of one kind sort like their texts. */
export function isAllowed({ kind, min, max, step }: DateControl, value: string): boolean {
  const isAfter = min === '' || value >= min;
  const isBefore = max === '' || value <= max;
  // A time range may cross midnight.
  const isOverMidnight = kind === 'time' && min !== '' && max !== '' && min > max;
  if (isOverMidnight ? !isAfter && !isBefore : !isAfter || !isBefore) return false;
  const width = Number(step);
  if (kind === 'time' || kind === 'datetime-local' || !(width > 1)) return true;
  return (positionOf(kind, value) - positionOf(kind, min)) % Math.round(width) === 0;
}

/** Position in days, months or weeks; without a value, the step base. */
function positionOf(kind: DateControl['kind'], value: string): number {
  if (kind === 'month') {
    const month = readDay(`${value}-01`);
    return month === null ? 0 : (month.year - 1970) * 12 + month.month - 1;
  }
  if (kind === 'week') {
    const monday = dayOfWeek(value);
    return monday === null ? 0 : (utc(monday) - WEEK_BASE) / (7 * DAY_MS) + 1;
  }
  const day = readDay(value);
  return day === null ? 0 : utc(day) / DAY_MS;
}

function utc({ year, month, day }: Day): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime();
}

function dayOf(ms: number): Day {
  const date = new Date(ms);
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}
