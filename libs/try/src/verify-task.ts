import type { Action } from '@ui-rl/actions';
import type { Check, Task } from '@ui-rl/contracts';
import { checkHolds, verify } from '@ui-rl/plugin-kit';
import type { Stage } from './stage';

type State = Record<string, unknown> | null;

/** The verdicts of the two replays on one check of a task. */
export interface CheckVerdict {
  /** After the recorded actions on a fresh page. */
  holdsAfter: boolean;
  /** On a fresh page without any action. */
  holdsWithout: boolean;
}

/** The verdicts of both replays on the whole task. */
export interface TaskVerdict {
  checks: readonly CheckVerdict[];
  /** The verifier's verdict on the whole task. */
  replayed: boolean;
  untouched: boolean;
}

/**
 * Replays the actions on a fresh page, and opens other pages without acting.
 *
 * @param otherStarts further seeds whose start is verified without actions
 *
 * @throws TryFailure if the page fails
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
