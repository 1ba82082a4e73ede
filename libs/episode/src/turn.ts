import type { PolicyActReply, PolicyActRequest, RolloutRequest, Screenshot, Turn } from '@ui-rl/contracts';
import { mix32 } from '@ui-rl/random';
import { EpisodeFailure } from './failure';
import type { EpisodePlan } from './plan';
import { shownImage, type Prompt } from './prompt';

/** @param playId part of the id; differs when the rollout is played again */
export function policyRequest(
  request: RolloutRequest,
  plan: EpisodePlan,
  playId: string,
  index: number,
  { messages, images }: Prompt,
  { waitMs, grammar }: { waitMs: number; grammar?: string | undefined },
): PolicyActRequest {
  return {
    runId: request.runId,
    requestId: `${request.rolloutId}${playId}/${index}`,
    messages,
    images,
    policy: request.policy,
    maxTokens: plan.maxTokens,
    temperature: plan.temperature,
    topP: plan.topP,
    topK: plan.topK,
    seed: turnSeed(request.samplingSeed, index),
    tokenTexts: true,
    purpose: request.purpose,
    waitMs: Math.max(1, waitMs),
    grammar,
  };
}

/** A different seed for each turn, the same whenever the rollout is played. */
export function turnSeed(samplingSeed: number, turn: number): number {
  return mix32(mix32(samplingSeed) + turn) >>> 1;
}

/**
 * The turn after the policy's answer: its input and output.
 *
 * @param saysTokens see `Policy`
 * @throws EpisodeFailure if the sample is inconsistent, or lacks the screen on which the actions are performed:
 *   training would learn from another one
 */
export function beginTurn(
  index: number,
  reply: PolicyActReply,
  screenshot: Screenshot,
  temperature: number,
  policyMs: number,
  saysTokens: boolean,
): Turn {
  const { tokenIds, logprobs } = reply;
  if ((saysTokens && tokenIds.length === 0) || tokenIds.length !== logprobs.length) {
    throw new EpisodeFailure(
      'bad_reply',
      `the policy answered turn ${index} with ${tokenIds.length} tokens and ${logprobs.length} log-probabilities`,
    );
  }
  const seen = reply.promptImages.at(-1) ?? null;
  const asked = shownImage(screenshot);
  if (seen !== asked) {
    throw new EpisodeFailure(
      'bad_reply',
      `the policy answered for screenshot ${seen ?? 'none'}, but was asked about ${asked ?? 'none, a screen told as text'}`,
    );
  }
  const turn = turnOf(index, reply, screenshot.sha256, temperature, policyMs);
  if (screenshot.text !== undefined) turn.screenText = screenshot.text;
  return turn;
}

/** @param screenshot sha256 of the policy's input */
export function turnOf(
  index: number,
  { finishReason: _, ...sample }: PolicyActReply,
  screenshot: string,
  temperature: number,
  policyMs: number,
): Turn {
  return { ...sample, index, temperature, actions: [], screenshot, policyMs: roundMs(policyMs), envMs: 0 };
}

/** To a tenth of a millisecond. */
export function roundMs(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
