import { answerTargets } from './answer-targets';
import { fileTargets } from './file-targets';
import { messageTargets } from './message-targets';
import type { Target } from './target';

/** Everything that reads what others wrote. */
export const targets: readonly Target[] = [...messageTargets, ...fileTargets, ...answerTargets];
