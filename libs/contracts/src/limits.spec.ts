import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { Count, FiniteNumbers, NumbersByName, TokenIds } from './limits';

class Message {
  @Count()
  step: unknown;

  @TokenIds()
  tokens: unknown;

  @FiniteNumbers()
  logprobs: unknown;

  @NumbersByName()
  metrics: unknown;
}

const RIGHT = {
  step: 3,
  tokens: [0, 151_935],
  logprobs: [-1e-9, 0],
  metrics: { 'optim/loss': 1, unknown: null },
};

function refused(changes: object): string[] {
  const message = plainToInstance(Message, { ...RIGHT, ...changes });
  return validateSync(message).map(({ property }) => property);
}

it('takes what services send', () => {
  expect(refused({})).toEqual([]);
  expect(refused({ tokens: [], logprobs: [], metrics: {} })).toEqual([]);
});

it.each([
  ['step', [1e308, 2 ** 31, -1, 0.5, '3', null, undefined]],
  ['tokens', [[1e308], [2 ** 31], [-1], [0.5], ['1'], [null], 'abc', { length: 1, 0: 3 }, undefined]],
  ['logprobs', [[Number.NaN], [Number.POSITIVE_INFINITY], [null], ['-1'], -1, undefined]],
  ['metrics', [{ loss: 'nan' }, { loss: {} }, { loss: Number.NaN }, [1], null, 'none', undefined]],
])('refuses what is no %s', (property, values) => {
  for (const value of values) expect(refused({ [property]: value })).toEqual([property]);
});
