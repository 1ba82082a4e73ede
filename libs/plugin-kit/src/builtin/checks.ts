import { answerOf } from '../answers';
import type { VerifierComponent } from '../kinds';
import { verify } from '../verify';

/** Judges the state at the end of an episode by the task's `checks`. */
export const checks: VerifierComponent = {
  kind: 'verifier',
  name: 'checks',
  description:
    "The checks of the task must hold at the end of the episode: in the environment's state, and for the agent's answer.",
  judges: ({ checks: own = [] }) => own.length > 0,
  create: () => ({
    verify: ({ task, turns, stateAfter }) => verify(task.checks, stateAfter, answerOf(turns)),
  }),
};
