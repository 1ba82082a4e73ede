import type { Action } from '@ui-rl/actions';
import { executeActions } from './answer';
import { Clock } from './clock';
import type { EpisodeEnvironment } from './environment';

const click: Action = { action: 'click', x: 1, y: 2 };
const finish: Action = { action: 'finish', success: true };

it.each([
  [undefined, [click]],
  [true, [click, finish]],
])('says that the agent has finished where an environment wants to know: %s', async (takesFinish, told) => {
  const asked: object[] = [];
  const environment = {
    takesFinish,
    step: async (_id: string, action: object) => {
      asked.push(action);
      return { screenshot: { sha256: String(asked.length) }, outcome: 'ok', done: false };
    },
  } as unknown as EpisodeEnvironment;
  const clock = new Clock('the turn', 5_000, new AbortController().signal);
  const done = await executeActions([click, finish, click], 'turn', environment, clock);
  expect(done).toMatchObject({ actions: [click, finish], outcome: 'ok', ended: true });
  expect(asked).toEqual(told);
});
