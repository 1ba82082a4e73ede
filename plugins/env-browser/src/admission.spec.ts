import { setTimeout as sleep } from 'node:timers/promises';
import { Admission } from './admission';

const never = new AbortController().signal;

/** A job that runs until the test ends it. */
function job() {
  let end = () => {};
  const over = new Promise<void>((resolve) => (end = resolve));
  return { over, end };
}

it('admits in order as long as the costs fit', async () => {
  const admission = new Admission(4);
  const begun: string[] = [];
  const jobs = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, job()]));
  const run = (name: string, cost: number) =>
    admission.run(cost, never, async () => {
      begun.push(name);
      await jobs[name].over;
      return name;
    });
  const all = [run('a', 2), run('b', 1), run('c', 2), run('d', 1)];
  await sleep(0);
  expect(begun).toEqual(['a', 'b']); // d would fit, but c came first
  jobs.a.end();
  await sleep(0);
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  Object.values(jobs).forEach(({ end }) => end());
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd']);
});

it('admits what costs more than everything when nothing else is going on, and what comes after a failure', async () => {
  const admission = new Admission(1);
  await expect(admission.run(5, never, async () => 'dear')).resolves.toBe('dear');
  await expect(admission.run(1, never, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  await expect(admission.run(1, never, async () => 'next')).resolves.toBe('next');
});

it('lets go who waited too long, and those behind it in', async () => {
  const admission = new Admission(2);
  const first = job();
  const running = admission.run(1, never, () => first.over);
  const patience = new AbortController();
  const dear = admission.run(2, patience.signal, async () => 'dear');
  const cheap = admission.run(1, never, async () => 'cheap');
  patience.abort();
  await expect(dear).rejects.toMatchObject({ code: 'deadline' });
  await expect(cheap).resolves.toBe('cheap');
  await expect(admission.run(1, patience.signal, async () => 'late')).rejects.toMatchObject({
    code: 'deadline',
  });
  first.end();
  await running;
});
