import type { BusService } from '@ui-rl/bus';
import type { PolicyActReply, RolloutRequest, Screenshot, Turn } from '@ui-rl/contracts';
import type { Clock } from './clock';
import type { EnvironmentClient } from './environment';
import { EpisodeFailure } from './failure';
import type { EpisodePlan, Timeouts } from './plan';
import { askPolicy } from './policy';
import { buildPrompt, type PastTurn } from './prompt';

/** Where an episode stands; the caller sees what was played even when it fails. */
export interface EpisodeProgress {
  turns: Turn[];
  /** The latest screenshot. */
  screenshot: Screenshot;
}

export interface EpisodeContext {
  bus: BusService;
  request: RolloutRequest;
  plan: EpisodePlan;
  timeouts: Timeouts;
  clock: Clock;
  environment: EnvironmentClient;
  /** Part of the ids of policy requests; differs when the rollout is played again. */
  playId: string;
  /** Begins to store a screenshot. */
  keep(screenshot: Screenshot): void;
}

/**
 * Plays turns until the policy or the environment ends the episode (`completed`) or its turns are used up
 * (`truncated`). A text that is no action costs a turn; the next one tells what was wrong.
 *
 * @throws EpisodeFailure, Stopped
 */
export async function playTurns(
  context: EpisodeContext,
  progress: EpisodeProgress,
): Promise<'completed' | 'truncated'> {
  const { request, plan } = context;
  const maxTurns = Math.min(request.task.maxSteps ?? plan.maxTurns, plan.maxTurns);
  const past: PastTurn[] = [];
  let correction: string | undefined;
  for (let index = 0; index < maxTurns; index++) {
    const { screenshot } = progress;
    const clock = context.clock.part(`turn ${index}`, plan.turnTimeoutMs);
    const prompt = buildPrompt({
      style: plan.promptStyle,
      describeActions: () => plan.dialect.describe(),
      goal: request.task.description,
      past,
      screenshot,
      maxTurns,
      historyTurns: plan.historyTurns,
      correction,
    });
    const asked = performance.now();
    const reply = await askPolicy(
      context.bus,
      policyRequest(context, index, prompt),
      clock,
      context.timeouts,
    );
    assertSeen(reply, screenshot);
    const turn = beginTurn(index, reply, screenshot, plan.temperature, performance.now() - asked);
    const parsed = plan.dialect.parse(reply.text);
    past.push({ screenshot, text: prompt.text, answer: reply.text });
    if (!parsed.ok) {
      correction = parsed.correction;
      turn.parseError = `${parsed.reason}: ${parsed.correction}`;
      turn.outcome = 'no_action';
      progress.turns.push(turn);
      continue;
    }
    correction = undefined;
    turn.action = { ...parsed.action };
    if (parsed.action.action === 'finish') {
      turn.outcome = 'ok';
      progress.turns.push(turn);
      return 'completed';
    }
    const acted = performance.now();
    const step = await clock.race(context.environment.step(`${request.rolloutId}/${index}`, parsed.action));
    turn.outcome = step.outcome;
    turn.envMs = round(performance.now() - acted);
    progress.turns.push(turn);
    context.keep(step.screenshot);
    progress.screenshot = step.screenshot;
    if (step.done) return 'completed';
  }
  return 'truncated';
}

function policyRequest(context: EpisodeContext, index: number, prompt: ReturnType<typeof buildPrompt>) {
  const { request, plan, playId } = context;
  return {
    runId: request.runId,
    requestId: `${request.rolloutId}${playId}/${index}`,
    messages: prompt.messages,
    images: prompt.images,
    policy: request.policy,
    maxTokens: plan.maxTokens,
    temperature: plan.temperature,
    topP: plan.topP,
    seed: turnSeed(request.samplingSeed, index),
  };
}

/** Different random numbers in each turn, the same whenever the rollout is played. */
export function turnSeed(samplingSeed: number, turn: number): number {
  return mixed(mixed(samplingSeed) + turn) >>> 1;
}

/** Finalizer of MurmurHash3: every bit of the input moves half of the output's. */
function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The sample must hold the screen the action is taken on, else training would learn from another one. */
function assertSeen(reply: PolicyActReply, screenshot: Screenshot): void {
  if (reply.promptImages.at(-1) === screenshot.sha256) return;
  throw new EpisodeFailure(
    'bad_reply',
    `the policy answered for screenshot ${reply.promptImages.at(-1)}, but was asked about ${screenshot.sha256}`,
  );
}

function beginTurn(
  index: number,
  reply: PolicyActReply,
  screenshot: Screenshot,
  temperature: number,
  policyMs: number,
): Turn {
  return {
    index,
    promptTokenIds: reply.promptTokenIds,
    promptImages: reply.promptImages,
    imageTokens: reply.imageTokens,
    tokenIds: reply.tokenIds,
    logprobs: reply.logprobs,
    temperature,
    policyVersion: reply.policyVersion,
    adapterDigest: reply.adapterDigest,
    text: reply.text,
    action: null,
    screenshot: screenshot.sha256,
    policyMs: round(policyMs),
    envMs: 0,
  };
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 10) / 10;
}
