import { Turns } from './turns';

it('continues behind a gap that was filled too late for the waiting request', async () => {
  const turns = new Turns(50);
  const done: number[] = [];
  const run = (number: number) => turns.run(number, async () => void done.push(number));
  await expect(run(2)).rejects.toMatchObject({ code: 'sequence_gap' });
  await run(1);
  await run(3);
  expect(done).toEqual([1, 3]);
});
