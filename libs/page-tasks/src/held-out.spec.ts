import type { Action } from '@ui-rl/actions';
import { element, screenOf } from '../test/hand-drawn';
import { accuracy, isRight, pointsInside } from './held-out';

const screen = screenOf(
  element('button', 'Save', [10, 10, 40, 20]),
  element('button', 'Cancel', [60, 10, 40, 20]),
  element('drop target', 'Box', [10, 100, 40, 40]),
);
const click = (x: number, y: number): Action => ({ action: 'click', x, y });
const drag = (from: [number, number], to: [number, number]): Action => ({ action: 'drag', from, to });

describe('held-out scores', () => {
  it.each<[string, Action, boolean]>([
    ['inside', click(11, 11), true],
    ['on the edge', click(50, 11), false],
    ['in another one', click(70, 20), false],
    ['without a place', { action: 'finish', success: true }, false],
  ])('of pointing: %s', (_, action, expected) => {
    expect(pointsInside(action, { target: [1] }, screen)).toBe(expected);
    expect(pointsInside(action, { target: [[10, 10, 40, 20]] }, screen)).toBe(expected);
  });

  it.each<[Action, Action, number[], boolean]>([
    [click(20, 20), click(30, 15), [1], true],
    [click(20, 20), { action: 'double_click', x: 20, y: 20 }, [1], false],
    [click(70, 20), click(30, 15), [1], false],
    [{ action: 'type', text: 'a' }, { action: 'type', text: 'a' }, [], true],
    [{ action: 'type', text: 'A' }, { action: 'type', text: 'a' }, [], false],
    [{ action: 'key', keys: ['ctrl', 'a'] }, { action: 'key', keys: ['ctrl', 'a'] }, [], true],
    [{ action: 'key', keys: ['a'] }, { action: 'key', keys: ['ctrl', 'a'] }, [], false],
    [drag([20, 20], [20, 120]), drag([30, 20], [40, 110]), [1, 3], true],
    [drag([20, 20], [70, 20]), drag([30, 20], [40, 110]), [1, 3], false],
    [drag([20, 20], [22, 120]), drag([30, 20], [20, 118]), [1], true],
    [drag([20, 20], [22, 130]), drag([30, 20], [20, 118]), [1], false],
  ])('of one action: %j for %j', (answered, action, target, expected) => {
    expect(isRight(answered, { action, target }, screen)).toBe(expected);
  });

  it('are shares', () => {
    expect(accuracy([true, false, true, true])).toBe(0.75);
    expect(accuracy([])).toBe(0);
  });
});
