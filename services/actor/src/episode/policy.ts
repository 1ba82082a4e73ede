import type { BusService, MessageClass } from '@ui-rl/bus';
import { PolicyActReply, type PolicyActRequest, subjects } from '@ui-rl/contracts';
import { RETRIES } from '@ui-rl/retry';
import type { Clock } from './clock';
import { EpisodeFailure } from './failure';
import type { Timeouts } from './plan';

/** Failures that no later answer could mend. */
const FINAL = new Set(['bad_request', 'unknown_policy', 'too_large']);

/**
 * Requests the policy's answer for one turn. The request's id makes it the same however often it is requested.
 *
 * @throws EpisodeFailure, Stopped
 */
export async function requestTurn(
  bus: BusService,
  request: PolicyActRequest,
  clock: Clock,
  timeouts: Timeouts,
): Promise<PolicyActReply> {
  const act = { subject: subjects.policyAct(request.runId), message: request, schema: PolicyActReply };
  const reply = await requestLearner(bus, act, clock, timeouts);
  if (reply.tokenIds.length === 0 || reply.tokenIds.length !== reply.logprobs.length) {
    throw new EpisodeFailure(
      'bad_reply',
      `the policy answered ${request.requestId} with ${reply.tokenIds.length} tokens and ${reply.logprobs.length} log-probabilities`,
    );
  }
  return reply;
}

/**
 * Sends a request to the learner, again and again until the time is over: one that was killed comes back.
 *
 * @throws EpisodeFailure, Stopped
 */
export async function requestLearner<T>(
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
