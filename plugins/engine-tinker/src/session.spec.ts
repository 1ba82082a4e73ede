import type { Connection } from './connection';
import { ServiceFailure } from './connection';
import { ServiceSession } from './session';

afterEach(() => jest.useRealTimers());

it('sends one heartbeat at a time, however long a service is away', async () => {
  jest.useFakeTimers();
  const beats: { answer: (error?: Error) => void; signal: AbortSignal }[] = [];
  const post = (verb: string, _body: object, signal: AbortSignal): Promise<object> => {
    if (verb === 'create_session') return Promise.resolve({ session_id: 'one' });
    return new Promise((resolve, reject) => {
      const answer = (error?: Error): void => (error === undefined ? resolve({}) : reject(error));
      beats.push({ answer, signal });
    });
  };
  const lost: Error[] = [];
  const said: string[] = [];
  const connection = { address: 'http://a', post } as unknown as Connection;
  const log = (_level: string, text: string): number => said.push(text);
  const session = await ServiceSession.begin(connection, log, (error) => lost.push(error));
  await jest.advanceTimersByTimeAsync(60_000);
  expect(beats).toHaveLength(1);
  // Its heart goes on beating after an answer, and after an outage.
  beats[0].answer();
  await jest.advanceTimersByTimeAsync(10_000);
  expect(beats).toHaveLength(2);
  beats[1].answer(new ServiceFailure('away', undefined));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(said).toEqual(['heartbeat: away']);
  beats[2].answer(new ServiceFailure('gone', 404));
  await jest.advanceTimersByTimeAsync(10_000);
  expect(lost.map(({ message }) => message)).toEqual(['gone']);
  // One that is under way ends with the session.
  session.stop();
  expect(beats[3].signal.aborted).toBe(true);
  beats[3].answer(new Error('aborted'));
  await jest.advanceTimersByTimeAsync(60_000);
  expect(beats).toHaveLength(4);
  expect(said).toHaveLength(1);
});
