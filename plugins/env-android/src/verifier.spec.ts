import type { StateCheck } from '@ui-rl/plugin-kit';
import { canBeJudged, verifyDevice } from './verifier';

const good = { success: true };
const checks: StateCheck[] = [{ path: 'focus', operator: 'equals', value: 'a/b' }];

it.each([
  ['all hold', undefined, { validations: [good, good] }, true],
  ['one does not', undefined, { validations: [good, { success: false }] }, false],
  ['a verdict that is none', undefined, { validations: [{ success: 'yes' }] }, false],
  ['checks must hold, too', checks, { validations: [good], focus: 'c/d' }, false],
  ['both hold', checks, { validations: [good], focus: 'a/b' }, true],
  ['checks alone', checks, { focus: 'a/b' }, true],
  ['nothing was asked', undefined, { focus: 'a/b' }, null],
  ['there is no state', undefined, null, null],
])('%s', (_, own, stateAfter, verdict) => {
  expect(verifyDevice({ task: { description: 'A task', checks: own }, turns: [], stateAfter })).toBe(verdict);
});

it.each([
  ['validators', { options: { validators: [{ app: 'a' }] } }, undefined, true],
  ['checks', { options: {} }, checks, true],
  ['neither', { options: { validators: [] } }, [], false],
  ['nothing', undefined, undefined, false],
])('a task with %s can be judged: %#', (_, environment, own, expected) => {
  const task = { description: 'A task', checks: own };
  expect(
    canBeJudged(
      environment === undefined ? task : { ...task, environment: { kind: 'android', ...environment } },
    ),
  ).toBe(expected);
});
