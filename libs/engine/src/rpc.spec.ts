import { ModelError } from '@ui-rl/models';
import { EngineError } from './errors';
import { fromFailure, toFailure } from './rpc';

class OptionError extends Error {
  override readonly name = 'OptionError';
}

/** The error as the other thread receives it. */
const sent = (error: unknown): EngineError => fromFailure(structuredClone(toFailure(error)));

it('errors cross threads with category, stack and causes', () => {
  const cause = new OptionError('too small', { cause: new Error('at the root') });
  const error = new EngineError('request', 'loss x cannot be built', { cause });
  const received = sent(error);
  expect([received.name, received.category, received.message, received.stack]).toEqual([
    'EngineError',
    'request',
    'loss x cannot be built',
    error.stack,
  ]);
  const origin = received.cause as Error;
  expect([origin.name, origin.message, origin.stack]).toEqual(['OptionError', 'too small', cause.stack]);
  expect((origin.cause as Error).message).toBe('at the root');
});

it('errors of other kinds are those of the worker, by name', () => {
  expect(sent(new OptionError('too small'))).toMatchObject({
    category: 'worker',
    message: 'OptionError: too small',
  });
  const truncated = new ModelError('bad-file', 'the file is truncated');
  const message = 'ModelError: the file is truncated';
  expect(sent(truncated)).toMatchObject({ category: 'checkpoint', message });
  expect(sent('text')).toMatchObject({ category: 'worker', message: 'Error: text' });
});
