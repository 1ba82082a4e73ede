import { setImmediate } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { answer } from './bodies';
import { Futures, type Answer } from './futures';

Logger.overrideLogger(false);

const ofSize = (sizeBytes: number): Answer => ({ ...answer({ sizeBytes }), sizeBytes });

/** Ids of requests that ended one after the other. */
async function ended(futures: Futures, sizes: readonly number[], owner = 'a'): Promise<string[]> {
  const ids: string[] = [];
  for (const size of sizes) {
    ids.push(futures.begin(owner, async () => ofSize(size)));
    await setImmediate();
  }
  return ids;
}

/** `there`, or the status that explains the absence. */
function found(futures: Futures, ids: readonly string[]): Promise<unknown[]> {
  const ask = (id: string): Promise<unknown> =>
    futures.wait(id, 0).then(
      () => 'there',
      (error: { status: number }) => error.status,
    );
  return Promise.all(ids.map(ask));
}

it('keeps so many answers, and says of older ones that they were let go', async () => {
  const futures = new Futures(10, { requests: 2, bytes: 1000 });
  const failed = futures.begin('a', () => Promise.reject(new Error('broken')));
  await setImmediate();
  expect(await futures.wait(failed, 0)).toMatchObject({ category: 'server' });
  const ids = await ended(futures, [1, 1, 1]);
  expect(await found(futures, [failed, ...ids])).toEqual([410, 410, 'there', 'there']);
  await expect(futures.wait(ids[0], 0)).rejects.toThrow('was let go');
  // Ids of other instances get another error.
  const other = new Futures(10);
  const [foreign] = await ended(other, [1]);
  expect(await found(futures, [foreign, 'req-0', ids[2].replace('-4-', '-40-')])).toEqual([404, 404, 404]);
});

it('keeps answers up to a memory limit, and the last one at any size', async () => {
  const futures = new Futures(10, { requests: 100, bytes: 1000 });
  const ids = await ended(futures, [400, 400, 400, 5000]);
  expect(await found(futures, ids.slice(0, 3))).toEqual([410, 410, 410]);
  expect(await found(futures, ids.slice(3))).toEqual(['there']);
  expect(await found(futures, await ended(futures, [600, 400]))).toEqual(['there', 'there']);
});

it('lets nothing go that is worked at, and counts nothing that its session took with it', async () => {
  const futures = new Futures(10, { requests: 100, bytes: 1000 });
  let finish: (answered: Answer) => void = () => undefined;
  const held = new Promise<Answer>((resolve) => (finish = resolve));
  const slow = futures.begin('a', () => held);
  await ended(futures, [900, 900]);
  expect(await futures.wait(slow, 0)).toBeUndefined();
  expect(futures.ownerOf(slow)).toBe('a');
  futures.forget('a');
  finish(ofSize(900));
  const ids = await ended(futures, [900, 50], 'b');
  expect(await found(futures, [slow, ...ids])).toEqual([410, 'there', 'there']);
  expect(futures.active).toBe(0);
});
