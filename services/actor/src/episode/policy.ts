import type { BusService, MessageClass } from '@ui-rl/bus';
import {
  type ImageSize,
  PolicyActReply,
  type PolicyActRequest,
  PolicyInfoReply,
  type PolicyInfoRequest,
  type PolicyPrompt,
  subjects,
} from '@ui-rl/contracts';
import { type Clock, EpisodeFailure, type Policy } from '@ui-rl/episode';
import { RETRIES } from '@ui-rl/retry';
import type { Timeouts } from './timeouts';

/** Failures that a retry cannot fix. */
const FINAL = new Set(['bad_request', 'prompt_too_long', 'unknown_policy', 'too_large']);

/** The policy of a run, served by its learner. */
export class LearnerPolicy implements Policy {
  /** Caches the learner's replies about the model's image size. */
  private readonly sizes = new Map<string, ImageSize>();

  constructor(
    private readonly bus: BusService,
    private readonly runId: string,
    private readonly timeouts: Timeouts,
  ) {}

  /** @throws EpisodeFailure, Stopped */
  async modelImage({ width, height }: ImageSize, clock: Clock): Promise<ImageSize> {
    const key = `${width}×${height}`;
    const known = this.sizes.get(key);
    if (known !== undefined) return known;
    const { modelImage } = await this.info({ screenshot: { width, height } }, clock);
    if (modelImage === undefined) {
      throw new EpisodeFailure(
        'bad_reply',
        `the learner does not say how its model sees a screenshot of ${key} pixels`,
      );
    }
    this.sizes.set(key, modelImage);
    return modelImage;
  }

  /** @throws EpisodeFailure, Stopped */
  async countTokens(prompt: PolicyPrompt, clock: Clock): Promise<number> {
    const { promptTokens } = await this.info({ prompt }, clock);
    if (promptTokens !== undefined) return promptTokens;
    throw new EpisodeFailure('bad_reply', 'the learner does not count tokens: it has an earlier version');
  }

  private info(wanted: Omit<PolicyInfoRequest, 'runId'>, clock: Clock): Promise<PolicyInfoReply> {
    const { runId } = this;
    const info = {
      subject: subjects.policyInfo(runId),
      message: { runId, ...wanted },
      schema: PolicyInfoReply,
    };
    return requestLearner(this.bus, info, clock, this.timeouts);
  }

  /**
   * The request's id makes the answer reproducible, however often it is requested.
   *
   * @throws EpisodeFailure, Stopped
   */
  async act(request: PolicyActRequest, clock: Clock): Promise<PolicyActReply> {
    const act = { subject: subjects.policyAct(request.runId), message: request, schema: PolicyActReply };
    return requestLearner(this.bus, act, clock, this.timeouts);
  }
}

/**
 * Sends a request to the learner and retries until the deadline: a killed learner restarts.
 *
 * @throws EpisodeFailure, Stopped
 */
async function requestLearner<T>(
  bus: BusService,
  { subject, message, schema }: { subject: string; message: object; schema: MessageClass<T> },
  clock: Clock,
  timeouts: Timeouts,
): Promise<T> {
  const send = () =>
    bus.request(subject, message, Math.max(1, Math.min(timeouts.policyMs, clock.leftMs)), schema);
  const reply = await clock.retry(RETRIES.policy, send, {
    until: clock.endsAt,
    isTransientResult: (given) => !given.ok && !FINAL.has(given.error.code),
  });
  if (reply.ok) return reply.value;
  const { code, message: why } = reply.error;
  if (FINAL.has(code)) throw new EpisodeFailure(code, `the policy refused the request: ${why}`);
  throw new EpisodeFailure('deadline', `the policy gave no answer in time: ${why}`);
}
