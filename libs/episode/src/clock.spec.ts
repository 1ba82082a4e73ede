import { Clock } from './clock';
import { EpisodeFailure, Stopped } from './failure';

const lost = new Error('the connection was lost');

function clock(stopping = new AbortController()): Clock {
  return new Clock('the episode', 50, stopping.signal);
}

test('a wait returns the result, or fails with the same error', async () => {
  expect(await clock().race(Promise.resolve(7))).toBe(7);
  await expect(clock().race(Promise.reject(lost))).rejects.toBe(lost);
});

test('nothing is waited for beyond the limit; a part ends no later than the whole', async () => {
  const never = new Promise<never>(() => undefined);
  const whole = clock();
  await expect(whole.part('turn 3', 60_000).race(never)).rejects.toThrow('turn 3 took longer than');
  await expect(whole.race(never)).rejects.toThrow(EpisodeFailure);
});

test('a clock of the machine that is set ends nothing early, and holds nothing up', async () => {
  const never = new Promise<never>(() => undefined);
  const [now, hour] = [Date.now(), 3_600_000];
  const long = new Clock('the episode', 60_000, new AbortController().signal);
  const short = clock();
  const set = jest.spyOn(Date, 'now');
  set.mockReturnValue(now + hour);
  expect(await long.race(Promise.resolve(7))).toBe(7);
  expect(long.leftMs).toBeGreaterThan(50_000);
  set.mockReturnValue(now - hour);
  await expect(short.race(never)).rejects.toThrow('the episode took longer than 50 ms');
  set.mockRestore();
});

test('a service that stops waits for nothing, and later failures are not unhandled rejections', async () => {
  const stopping = new AbortController();
  const waiting = clock(stopping).race(new Promise<never>(() => undefined));
  stopping.abort();
  await expect(waiting).rejects.toThrow(Stopped);
  const late = Promise.reject(lost);
  const handled = jest.spyOn(late, 'then');
  await expect(clock(stopping).race(late)).rejects.toThrow(Stopped);
  expect(handled).toHaveBeenCalled();
});

test.each([2 ** 31 - 1, 2 ** 31, 2 ** 40])('a limit of %d ms ends nothing at once', async (limitMs) => {
  const long = new Clock('the episode', limitMs, new AbortController().signal);
  const soon = new Promise((resolve) => setTimeout(() => resolve('done'), 20));
  expect(await long.race(soon)).toBe('done');
});
