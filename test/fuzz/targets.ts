import { answerTargets } from './answer-targets';
import { episodeTargets } from './episode-targets';
import { fileTargets } from './file-targets';
import { messageTargets } from './message-targets';
import { requestTargets } from './request-targets';
import type { Target } from './target';

/** Every parser of external input. */
export const targets: readonly Target[] = [
  ...messageTargets,
  ...requestTargets,
  ...fileTargets,
  ...episodeTargets,
  ...answerTargets,
];
