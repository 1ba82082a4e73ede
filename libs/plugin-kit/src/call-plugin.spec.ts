import { setTimeout as delay } from 'node:timers/promises';
import { callPlugin } from './call-plugin';

it('gives what the plugin gives, and what it throws', async () => {
  expect(await callPlugin('reward "a"', 1_000, () => 3)).toBe(3);
  expect(await callPlugin('reward "a"', 1_000, async () => 4)).toBe(4);
  const broken = callPlugin('reward "a"', 1_000, () => {
    throw new Error('no idea');
  });
  await expect(broken).rejects.toThrow('no idea');
});

it('does not wait beyond the deadline, and tells the plugin', async () => {
  let told: AbortSignal | undefined;
  const never = callPlugin('tracker "slow"', 20, ({ signal, deadlineAt }) => {
    told = signal;
    expect(deadlineAt).toBeGreaterThanOrEqual(Date.now());
    return new Promise<never>(() => undefined);
  });
  await expect(never).rejects.toThrow('tracker "slow" took longer than 0.02 seconds');
  expect(told?.aborted).toBe(true);
});

it('does not wait once the caller does not either', async () => {
  const outer = new AbortController();
  const waiting = callPlugin(
    'task-source "far"',
    60_000,
    ({ signal }) => delay(60_000, undefined, { signal }),
    outer.signal,
  );
  outer.abort(new Error('the service stops'));
  await expect(waiting).rejects.toThrow('the service stops');
  await expect(callPlugin('late', 1_000, () => 1, outer.signal)).rejects.toThrow('the service stops');
});
