import { isInRange } from './machine';

const RANGE = '^20.19.0 || ^22.13.0 || >=24.11.0';

it.each([
  ['20.18.3', false],
  ['20.19.0', true],
  ['20.20.2', true],
  ['21.7.0', false],
  ['22.12.0', false],
  ['22.13.1', true],
  ['23.11.0', false],
  ['24.10.0', false],
  ['24.11.0', true],
  ['26.1.0', true],
])('Node %s is in the range of package.json: %p', (version, isIn) => {
  expect(isInRange(version, RANGE)).toBe(isIn);
});
