import type { VerifierComponent } from '../kinds';
import { verify } from '../verify';

/** Judges the state at the end of an episode by the task's `checks`. */
export const checks: VerifierComponent = {
  kind: 'verifier',
  name: 'checks',
  description: "The checks of the task must hold in the environment's state at the end of the episode.",
  judges: ({ checks: own = [] }) => own.length > 0,
  create: () => ({ verify: ({ task, stateAfter }) => verify(task.checks, stateAfter) }),
};
