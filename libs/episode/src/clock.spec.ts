import { Clock } from './clock';
import { EpisodeFailure, Stopped } from './failure';

const lost = new Error('the connection was lost');

function clock(stopping = new AbortController()): Clock {
  return new Clock('the episode', 50, stopping.signal);
}

test('what is waited for gives its result, or fails as it does', async () => {
  expect(await clock().race(Promise.resolve(7))).toBe(7);
  await expect(clock().race(Promise.reject(lost))).rejects.toBe(lost);
});

test('nothing is waited for beyond the limit; a part ends no later than the whole', async () => {
  const never = new Promise<never>(() => undefined);
  const whole = clock();
  await expect(whole.part('turn 3', 60_000).race(never)).rejects.toThrow('turn 3 took longer than');
  await expect(whole.race(never)).rejects.toThrow(EpisodeFailure);
});

test('a service that stops waits for nothing, and what fails then is no unhandled rejection', async () => {
  const stopping = new AbortController();
  const waiting = clock(stopping).race(new Promise<never>(() => undefined));
  stopping.abort();
  await expect(waiting).rejects.toThrow(Stopped);
  const late = Promise.reject(lost);
  const handled = jest.spyOn(late, 'then');
  await expect(clock(stopping).race(late)).rejects.toThrow(Stopped);
  expect(handled).toHaveBeenCalled();
});
