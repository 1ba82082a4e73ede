import type { ImageSize, PolicyActReply, PolicyActRequest, PolicyPrompt } from '@ui-rl/contracts';
import type { Clock } from './clock';

/** A policy, wherever its model runs. Failures are thrown as `EpisodeFailure`. */
export interface Policy {
  /** False if it returns text only, so that its episodes cannot be trained on. Default true. */
  readonly saysTokens?: boolean;
  /** Size to which the model scales a screenshot of this size. */
  modelImage(screenshot: ImageSize, clock: Clock): Promise<ImageSize>;
  /** Number of tokens of a prompt. Undefined if only an answer can tell. */
  countTokens?(prompt: PolicyPrompt, clock: Clock): Promise<number>;
  /** Answers one turn. An image given by its hash was sent as bytes in an earlier turn of the episode. */
  act(request: PolicyActRequest, clock: Clock): Promise<PolicyActReply>;
}
