import type { Action } from '@ui-rl/actions';
import type { Check, Task } from '@ui-rl/contracts';
import { checkHolds, verify } from '@ui-rl/plugin-kit';
import type { Stage } from './stage';

type State = Record<string, unknown> | null;

/** What two tries say of each check of a task. */
export interface CheckVerdict {
  /** After the recorded actions, on a page that was opened afresh. */
  holdsAfter: boolean;
  /** On such a page without any action. */
  holdsWithout: boolean;
}

/** How a task fares both ways. */
export interface TaskVerdict {
  checks: readonly CheckVerdict[];
  /** What the verifier says of the whole task. */
  replayed: boolean;
  untouched: boolean;
}

/**
 * Plays the actions on a page that is opened afresh, and nothing on others.
 *
 * @param otherStarts seeds after the recorded one from which nothing is done
 *
 * @throws TryFailure where the page fails
 */
export async function verifyTask(
  stage: Stage,
  task: Task & { checks: Check[] },
  actions: readonly Action[],
  seed: number,
  otherStarts = 0,
): Promise<TaskVerdict> {
  const starts = Array.from({ length: 1 + otherStarts }, (_, start) => seed + start);
  const playAll = async (): Promise<State[]> => {
    const states: State[] = [];
    for (const start of starts) states.push(await playOn(stage, task, [], start));
    return states;
  };
  const [replayed, untouched] = await Promise.all([playOn(stage, task, actions, seed), playAll()]);
  return {
    checks: task.checks.map((check, place) => ({
      holdsAfter: checkHolds(check, place, replayed) === true,
      holdsWithout: untouched.some((state) => checkHolds(check, place, state) === true),
    })),
    replayed: verify(task.checks, replayed) === true,
    untouched: untouched.some((state) => verify(task.checks, state) === true),
  };
}

async function playOn(stage: Stage, task: Task, actions: readonly Action[], seed: number): Promise<State> {
  const episode = await stage.begin(task, seed);
  try {
    for (const action of actions) if ((await episode.step(action)).done) break;
    return await episode.end();
  } finally {
    await episode.discard();
  }
}
