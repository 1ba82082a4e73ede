import type { ImageSize, PolicyActReply, PolicyActRequest } from '@ui-rl/contracts';
import type { Clock } from './clock';

/** Who answers, wherever the model runs. What fails there is thrown as an `EpisodeFailure`. */
export interface Policy {
  /** False where it answers with text alone: nothing of such an episode can be trained. Default true. */
  readonly saysTokens?: boolean;
  /** The size in which the model sees a screenshot of this one. */
  modelImage(screenshot: ImageSize, clock: Clock): Promise<ImageSize>;
  /** The answer of one turn. Images that are given by their hash were bytes in an earlier turn of the episode. */
  act(request: PolicyActRequest, clock: Clock): Promise<PolicyActReply>;
}
