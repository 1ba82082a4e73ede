import { duration, plural } from '../web/src/format';

it.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [1_000, '1.0 s'],
  [59_949, '59.9 s'],
  [59_950, '1 min 0 s'],
  [119_600, '2 min 0 s'],
  [125_000, '2 min 5 s'],
  [3_599_600, '1 h 0 min'],
  [7_380_000, '2 h 3 min'],
])('%i ms last %s', (ms, expected) => expect(duration(ms)).toBe(expected));

it.each([
  [0, '0 turns'],
  [1, '1 turn'],
  [1_200, '1,200 turns'],
])('%i: %s', (value, expected) => expect(plural(value, 'turn')).toBe(expected));
