import type { BusService, MessageClass } from '@ui-rl/bus';
import { PolicyActReply, type PolicyActRequest, subjects } from '@ui-rl/contracts';
import { RETRIES } from '@ui-rl/retry';
import type { Clock } from './clock';
import { EpisodeFailure } from './failure';
import type { Timeouts } from './plan';

/** Failures that no later answer could mend. */
const FINAL = new Set(['bad_request', 'unknown_policy', 'too_large']);

/**
 * Asks the policy for one turn. The request's id makes it give the same tokens however often it is asked.
 *
 * @throws EpisodeFailure, Stopped
 */
export async function askPolicy(
  bus: BusService,
  request: PolicyActRequest,
  clock: Clock,
  timeouts: Timeouts,
): Promise<PolicyActReply> {
  const asked = { subject: subjects.policyAct(request.runId), message: request, schema: PolicyActReply };
  const reply = await askLearner(bus, asked, clock, timeouts);
  if (reply.tokenIds.length === 0 || reply.tokenIds.length !== reply.logprobs.length) {
    throw new EpisodeFailure(
      'bad_reply',
      `the policy answered ${request.requestId} with ${reply.tokenIds.length} tokens and ${reply.logprobs.length} log-probabilities`,
    );
  }
  return reply;
}

/**
 * Asks the learner, again and again until the time is over: one that was killed comes back.
 *
 * @throws EpisodeFailure, Stopped
 */
export async function askLearner<T>(
  bus: BusService,
  { subject, message, schema }: { subject: string; message: object; schema: MessageClass<T> },
  clock: Clock,
  timeouts: Timeouts,
): Promise<T> {
  const ask = () =>
    bus.request(subject, message, Math.max(1, Math.min(timeouts.askMs, clock.leftMs)), schema);
  const reply = await clock.retry(RETRIES.policy, ask, {
    until: clock.endsAt,
    isTransientResult: (given) => !given.ok && !FINAL.has(given.error.code),
  });
  if (reply.ok) return reply.value;
  const { code, message: why } = reply.error;
  if (FINAL.has(code)) throw new EpisodeFailure(code, `the policy refused the request: ${why}`);
  throw new EpisodeFailure('deadline', `the policy gave no answer in time: ${why}`);
}
