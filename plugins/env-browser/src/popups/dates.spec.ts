import type { DateControl } from './control';
import { dayOfWeek, isAllowed, isoDay, isoWeek, plusDays, plusMonths, readDay, weekday } from './dates';

const control = (fields: Partial<DateControl>): DateControl => ({
  ...{ kind: 'date', value: '', min: '', max: '', step: '', isRequired: false, isRtl: false },
  ...{ now: '2026-01-15T12:00:00', box: { x: 0, y: 0, width: 1, height: 1 } },
  ...fields,
});

describe('dates', () => {
  // Expected values from GNU coreutils: `date -d DAY +%G-W%V`.
  it.each([
    ['2026-01-01', '2026-W01', 4],
    ['2025-12-29', '2026-W01', 1],
    ['2021-01-03', '2020-W53', 0],
    ['2024-12-30', '2025-W01', 1],
    ['2024-02-29', '2024-W09', 4],
    ['0999-12-31', '1000-W01', 2],
  ])('%s is in week %s', (text, week, day) => {
    expect(isoWeek(readDay(text)!)).toBe(week);
    expect(weekday(readDay(text)!)).toBe(day);
    expect(isoWeek(dayOfWeek(week)!)).toBe(week);
  });

  it('are counted over the ends of months and years', () => {
    expect(isoDay(plusDays(readDay('2024-02-28')!, 2))).toBe('2024-03-01');
    expect(isoDay(plusDays(readDay('2026-01-01')!, -1))).toBe('2025-12-31');
    expect(isoDay(plusMonths(readDay('2026-01-31')!, -1))).toBe('2025-12-01');
    expect(isoDay(plusMonths(readDay('2026-11-30')!, 14))).toBe('2028-01-01');
  });

  it.each<[Partial<DateControl>, string, boolean]>([
    [{ min: '2026-01-10' }, '2026-01-09', false],
    [{ min: '2026-01-10' }, '2026-01-10', true],
    [{ max: '2026-01-10' }, '2026-01-11', false],
    [{ min: '2026-01-01', step: '7' }, '2026-01-08', true],
    [{ min: '2026-01-01', step: '7' }, '2026-01-09', false],
    [{ kind: 'month', min: '2026-01', step: '3' }, '2026-04', true],
    [{ kind: 'month', min: '2026-01', step: '3' }, '2026-05', false],
    [{ kind: 'week', min: '2026-W02', step: '2' }, '2026-W04', true],
    [{ kind: 'week', min: '2026-W02', step: '2' }, '2026-W05', false],
    [{ kind: 'time', min: '22:00', max: '06:00' }, '23:30', true],
    [{ kind: 'time', min: '22:00', max: '06:00' }, '05:00', true],
    [{ kind: 'time', min: '22:00', max: '06:00' }, '12:00', false],
  ])('%j: %s', (fields, value, allowed) => {
    expect(isAllowed(control(fields), value)).toBe(allowed);
  });
});
