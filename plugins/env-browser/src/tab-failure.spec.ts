import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BrowserError } from './errors';
import { TabFailure } from './tab-failure';

const crash = new BrowserError('crashed', 'the page crashed');
const never = () => new Promise<never>(() => undefined);

describe('the failure of a tab', () => {
  let failure: TabFailure;
  beforeEach(() => (failure = new TabFailure()));

  it('ends what is waited for, and what is begun afterwards', async () => {
    const waited = failure.orDone(new AbortController().signal, never);
    failure.happens(crash);
    failure.happens(new BrowserError('page_error', 'later'));
    await expect(waited).rejects.toBe(crash);
    await expect(failure.orDone(new AbortController().signal, never)).rejects.toBe(crash);
    expect(failure.happened).toBe(true);
  });

  it('is reported once to every listener, also to a late one', () => {
    const told: string[] = [];
    failure.whenHappened(({ code }) => told.push(`before ${code}`));
    failure.happens(crash);
    failure.happens(crash);
    failure.whenHappened(({ code }) => told.push(`after ${code}`));
    expect(told).toEqual(['before crashed', 'after crashed']);
  });

  it('leaves the deadline and the errors of the work what they are', async () => {
    const deadline = new AbortController();
    const waited = failure.orDone(deadline.signal, never);
    deadline.abort();
    await expect(waited).rejects.toMatchObject({ code: 'deadline' });
    await expect(failure.orDone(deadline.signal, never)).rejects.toMatchObject({ code: 'deadline' });
    const work = () => Promise.reject(new Error('of the work'));
    await expect(failure.orDone(new AbortController().signal, work)).rejects.toThrow('of the work');
    expect(failure.happened).toBe(false);
  });

  it('keeps nothing of what is over', async () => {
    setFlagsFromString('--expose_gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const results = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const done = await failure.orDone(new AbortController().signal, async () => ({ bytes: 'x' }));
        return new WeakRef(done);
      }),
    );
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(results.filter((result) => result.deref() !== undefined)).toEqual([]);
  });
});
