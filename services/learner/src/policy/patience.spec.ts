import { eventually } from '@ui-rl/testkit';
import { Patience } from './patience';

it('ends when the last caller stops waiting, not when the first one does', async () => {
  const patience = new Patience();
  patience.wait(1);
  patience.wait(60_000);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(patience.signal.aborted).toBe(false);
  patience.end();
  const short = new Patience();
  short.wait(1);
  await eventually('it to end', () => short.signal.aborted);
  expect(short.signal.reason).toMatchObject({ message: 'the caller no longer waits for the answer' });
});

it('has no end if a caller waits for ever, or the answer is there', async () => {
  const endless = new Patience();
  endless.wait();
  endless.wait(1);
  const answered = new Patience();
  answered.wait(1);
  answered.end();
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect([endless.signal.aborted, answered.signal.aborted]).toEqual([false, false]);
});
