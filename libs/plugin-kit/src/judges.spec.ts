import { judgesWithoutVerifier } from './judges';
import type { Component, ComponentChoice } from './kinds';
import { Choice, Doc } from './options';
import { ComponentRegistry } from './registry';

class OfOthers {
  @Doc('what it is made of')
  @Choice('reward', { many: true })
  of: (string | ComponentChoice)[] = ['plain'];
}

const reward = (name: string, extra: object = {}): Component => ({
  kind: 'reward',
  name,
  create: () => ({ score: () => 0 }),
  ...extra,
});

const components = new ComponentRegistry(
  [
    reward('plain'),
    reward('judge', { judgesWithoutVerifier: true }),
    reward('both', { options: OfOthers }),
  ].map((component) => ({ component, file: 'here' })),
);

test.each<[ComponentChoice[], boolean]>([
  [[], false],
  [[{ name: 'plain' }], false],
  [[{ name: 'plain' }, { name: 'judge' }], true],
  [[{ name: 'both' }], false],
  [[{ name: 'both', of: ['plain', 'judge'] }], true],
  [[{ name: 'both', of: [{ name: 'both', of: [{ name: 'judge' }] }] }], true],
])('whether %j judge without a verifier: %s', (rewards, expected) => {
  expect(judgesWithoutVerifier(rewards, components)).toBe(expected);
});

test('one that is not there is named', () => {
  expect(() => judgesWithoutVerifier([{ name: 'juge' }], components)).toThrow('no reward is named "juge"');
});
