import type { StateCheck } from '@ui-rl/contracts';
import { verify } from './verify';

const state = {
  settings: { wifi: true, brightness: 70, name: 'Pixel phone' },
  notes: [
    { id: 1, text: 'milk' },
    { id: 2, text: 'eggs' },
  ],
  empty: null,
};

describe('verify', () => {
  it.each<[string, StateCheck['operator'], unknown, boolean]>([
    ['settings.wifi', 'equals', true, true],
    ['settings.wifi', 'equals', 'true', false],
    ['settings', 'equals', { name: 'Pixel phone', brightness: 70, wifi: true }, true],
    ['settings', 'equals', { wifi: true }, false],
    ['notes.1.text', 'equals', 'eggs', true],
    ['notes.length', 'equals', 2, true],
    ['empty', 'equals', null, true],
    ['settings.wifi', 'not_equals', false, true],
    ['settings.wifi', 'not_equals', true, false],
    ['settings.name', 'contains', 'phone', true],
    ['settings.name', 'contains', 'Phone', false],
    ['notes', 'contains', { text: 'milk' }, true],
    ['notes', 'contains', { text: 'milk', id: 2 }, false],
    ['notes', 'contains', 'milk', false],
    ['settings.brightness', 'at_least', 70, true],
    ['settings.brightness', 'at_least', 71, false],
    ['settings.brightness', 'at_most', 70, true],
    ['settings.brightness', 'at_most', 69, false],
    ['settings.name', 'at_least', 0, false],
    ['settings.brightness', 'at_most', '70', false],
  ])('%s %s %j is %s', (path, operator, value, expected) => {
    expect(verify([{ path, operator, value }], state)).toBe(expected);
  });

  it('fails every operator on a path that leads nowhere', () => {
    for (const operator of ['equals', 'not_equals', 'contains', 'at_least', 'at_most'] as const) {
      for (const path of ['settings.wi_fi', 'settings.toString', 'notes.7', 'empty.x', '__proto__.x', '']) {
        expect(verify([{ path, operator, value: 0 }], state)).toBe(false);
      }
      expect(verify([{ path: 'a', operator, value: undefined }], null)).toBe(false);
    }
  });

  it('needs all checks to hold', () => {
    const good: StateCheck = { path: 'settings.wifi', operator: 'equals', value: true };
    const bad: StateCheck = { path: 'notes.length', operator: 'equals', value: 3 };
    expect(verify([good, good], state)).toBe(true);
    expect(verify([good, bad], state)).toBe(false);
  });

  it('does not know without checks', () => {
    expect(verify(undefined, state)).toBeNull();
    expect(verify([], state)).toBeNull();
  });
});
