import { type BusService, type MessageClass, sleep } from '@ui-rl/bus';
import { PolicyActReply, type PolicyActRequest, subjects } from '@ui-rl/contracts';
import type { Clock } from './clock';
import { EpisodeFailure } from './failure';
import type { Timeouts } from './plan';

const PAUSE_MS = 250;
const MAX_PAUSE_MS = 2_000;

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
  let last = 'it never answered';
  for (let pauseMs = PAUSE_MS; clock.leftMs > 0; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const timeoutMs = Math.max(1, Math.min(timeouts.askMs, clock.leftMs));
    const reply = await clock.race(bus.request(subject, message, timeoutMs, schema));
    if (reply.ok) return reply.value;
    last = reply.error.message;
    if (FINAL.has(reply.error.code)) {
      throw new EpisodeFailure(reply.error.code, `the policy refused the request: ${last}`);
    }
    await clock.race(sleep(Math.min(pauseMs, Math.max(1, clock.leftMs))));
  }
  throw new EpisodeFailure('deadline', `the policy gave no answer in time: ${last}`);
}
