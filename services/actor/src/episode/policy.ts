import { type BusService, sleep } from '@ui-rl/bus';
import { PolicyActReply, type PolicyActRequest, subjects } from '@ui-rl/contracts';
import type { Clock } from './clock';
import { EpisodeFailure } from './failure';
import type { Timeouts } from './plan';

const PAUSE_MS = 250;
const MAX_PAUSE_MS = 2_000;

/** Failures that no later answer could mend. */
const FINAL = new Set(['bad_request', 'unknown_policy', 'too_large']);

/**
 * Asks the policy for one turn, again and again until the turn's time is over: a learner that was killed comes back. The
 * request's id makes it give the same tokens however often it is asked.
 *
 * @throws EpisodeFailure
 */
export async function askPolicy(
  bus: BusService,
  request: PolicyActRequest,
  clock: Clock,
  timeouts: Timeouts,
): Promise<PolicyActReply> {
  let last = 'it never answered';
  for (let pauseMs = PAUSE_MS; clock.leftMs > 0; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const timeoutMs = Math.max(1, Math.min(timeouts.askMs, clock.leftMs));
    const reply = await clock.race(
      bus.request(subjects.policyAct(request.runId), request, timeoutMs, PolicyActReply),
    );
    if (reply.ok) return checked(reply.value, request);
    last = reply.error.message;
    if (FINAL.has(reply.error.code)) {
      throw new EpisodeFailure(reply.error.code, `the policy refused the request: ${last}`);
    }
    await clock.race(sleep(Math.min(pauseMs, Math.max(1, clock.leftMs))));
  }
  throw new EpisodeFailure('deadline', `the policy gave no answer in time: ${last}`);
}

function checked(reply: PolicyActReply, request: PolicyActRequest): PolicyActReply {
  if (reply.tokenIds.length === 0 || reply.tokenIds.length !== reply.logprobs.length) {
    throw new EpisodeFailure(
      'bad_reply',
      `the policy answered ${request.requestId} with ${reply.tokenIds.length} tokens and ${reply.logprobs.length} log-probabilities`,
    );
  }
  return reply;
}
