import { everyFewSeconds, pauseAfter, RETRIES, retry, sleep, startTimer } from './index';

const quick = { firstMs: 1, maxMs: 4 };

/** Fails this many times, then succeeds; counts attempts. */
function failing(times: number): { attempts: number; run: () => Promise<string> } {
  const state = {
    attempts: 0,
    run: async () => {
      state.attempts += 1;
      if (state.attempts <= times) throw new Error(`failure ${state.attempts}`);
      return 'done';
    },
  };
  return state;
}

describe('retry', () => {
  it('retries until it succeeds', async () => {
    const operation = failing(3);
    expect(await retry(quick, operation.run)).toBe('done');
    expect(operation.attempts).toBe(4);
  });

  it('throws what the last of its attempts ended with', async () => {
    const operation = failing(9);
    await expect(retry({ ...quick, attempts: 3 }, operation.run)).rejects.toThrow('failure 3');
    expect(operation.attempts).toBe(3);
  });

  it('begins to count anew after an attempt that lasted', async () => {
    const seen: number[] = [];
    const durations = [0, 0, 30, 0];
    const operation = async () => {
      await sleep(durations[seen.length] ?? 0);
      throw new Error('again');
    };
    const onFailure = (_: unknown, failures: number) => seen.push(failures);
    const policy = { ...quick, steadyMs: 25, attempts: 4 };
    await expect(retry(policy, operation, { onFailure })).rejects.toThrow('again');
    expect(seen).toEqual([1, 2, 1, 2, 3]);
  });

  it('ends at once with an error that does not pass', async () => {
    const operation = failing(9);
    const isTransient = (error: unknown) => !(error as Error).message.endsWith('2');
    await expect(retry(quick, operation.run, { isTransient })).rejects.toThrow('failure 2');
  });

  it('begins no attempt after the time is over, neither the policy’s nor the caller’s', async () => {
    const slow = { firstMs: 400, maxMs: 400 };
    const [within, until] = [failing(99), failing(99)];
    await expect(retry({ ...slow, withinMs: 1_000 }, within.run)).rejects.toThrow('failure 3');
    await expect(retry(slow, until.run, { until: performance.now() + 600 })).rejects.toThrow('failure 2');
  });

  it('tries a result again that is a failure, and at last gives it out', async () => {
    let asked = 0;
    const ask = async () => ({ ok: ++asked === 3 });
    const isTransientResult = (reply: { ok: boolean }) => !reply.ok;
    expect(await retry(quick, ask, { isTransientResult })).toEqual({ ok: true });
    const never = async () => ({ ok: false });
    expect(await retry({ ...quick, attempts: 2 }, never, { isTransientResult })).toEqual({ ok: false });
  });

  it('ends with the last failure when the signal aborts, also in a pause', async () => {
    const operation = failing(9);
    const began = Date.now();
    const trying = retry({ firstMs: 60_000, maxMs: 60_000 }, operation.run, {
      signal: AbortSignal.timeout(20),
    });
    await expect(trying).rejects.toThrow('failure 1');
    expect(Date.now() - began).toBeLessThan(5_000);
  });

  it('waits for what is done after a failure', async () => {
    const log: string[] = [];
    const operation = failing(1);
    await retry(quick, async () => (log.push('attempt'), operation.run()), {
      onFailure: async (error, failures) => {
        await sleep(1);
        log.push(`${(error as Error).message} of ${failures}`);
      },
    });
    expect(log).toEqual(['attempt', 'failure 1 of 1', 'attempt']);
  });
});

it('doubles the pauses up to the largest', () => {
  const pauses = [1, 2, 3, 4, 20].map((failures) => pauseAfter({ firstMs: 100, maxMs: 700 }, failures));
  expect(pauses).toEqual([100, 200, 400, 700, 700]);
});

it('reports what keeps failing, not the first failure nor each', () => {
  const reported: number[] = [];
  const report = everyFewSeconds((_, failures) => reported.push(failures));
  for (let failures = 1; failures <= 50; failures++) report(new Error(), failures);
  expect(reported).toEqual([2]);
});

it('has no policy whose longest pause is shorter than its first', () => {
  for (const { firstMs, maxMs } of Object.values(RETRIES)) expect(maxMs).toBeGreaterThanOrEqual(firstMs);
});

it.each([2 ** 31, 2 ** 32 + 1, 1e15, Infinity])(
  'waits for longer than a timer of Node can, %d ms',
  async (ms) => {
    const over = new AbortController();
    const ended: string[] = [];
    const long = sleep(ms, over.signal).then(() => ended.push('long'));
    const timer = startTimer(ms, () => ended.push('timer'));
    await sleep(50);
    expect(ended).toEqual([]);
    clearTimeout(timer);
    over.abort();
    await long;
  },
);
