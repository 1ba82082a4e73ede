import type { ScreenSizes } from '@ui-rl/actions';
import type { RolloutRequest, Screenshot, Turn } from '@ui-rl/contracts';
import { answerGrammar, describeActions, executeActions, readAnswer } from './answer';
import type { Clock } from './clock';
import type { EpisodeEnvironment, State } from './environment';
import { EpisodeFailure } from './failure';
import { type EpisodePlan, maxTurnsOf } from './plan';
import type { Policy } from './policy';
import { goalOf } from './goal';
import { buildPrompt, type PastTurn, shownImage } from './prompt';
import { beginTurn, policyRequest, roundMs } from './turn';

/** The state of an episode; the caller sees the played turns even if it fails. */
export interface EpisodeProgress {
  turns: Turn[];
  /** The latest screenshot. */
  screenshot: Screenshot;
  /** The environment's state after each turn; undefined if it did not report one. */
  states: (State | undefined)[];
}

export interface EpisodeContext {
  request: RolloutRequest;
  plan: EpisodePlan;
  clock: Clock;
  environment: EpisodeEnvironment;
  policy: Policy;
  /** Part of the ids of policy requests; differs when the rollout is played again. */
  playId: string;
  /** Starts to store a screenshot. */
  storeScreenshot(screenshot: Screenshot): void;
  /** Called after each turn. */
  onTurn?: ((turn: Turn) => void) | undefined;
}

/**
 * Plays turns until the policy or the environment ends the episode (`completed`), or until the turn limit is reached
 * or prompts become too long (`truncated`). An unparsable answer costs a turn; the next prompt describes the fault.
 *
 * @throws EpisodeFailure, Stopped
 */
export async function playTurns(
  context: EpisodeContext,
  progress: EpisodeProgress,
): Promise<'completed' | 'truncated'> {
  const { request, plan } = context;
  const maxTurns = maxTurnsOf(request, plan);
  const history: History = { past: [], maxTurns };
  for (let index = 0; index < maxTurns; index++) {
    try {
      if (await playTurn(index, context, progress, history)) return 'completed';
    } catch (error) {
      if (index > 0 && isTooLong(error)) return 'truncated';
      throw error;
    }
  }
  return 'truncated';
}

/**
 * The policy's own answers leave no capacity for another one; if the first prompt is too long, the run is at fault.
 */
function isTooLong(error: unknown): boolean {
  return error instanceof EpisodeFailure && error.code === 'prompt_too_long';
}

/** Earlier turns, as the prompt shows them. */
interface History {
  past: PastTurn[];
  maxTurns: number;
  /** The fault of the last answer. */
  correction?: string;
}

/** Returns whether the episode is over. */
async function playTurn(
  index: number,
  context: EpisodeContext,
  progress: EpisodeProgress,
  history: History,
): Promise<boolean> {
  const { request, plan, policy } = context;
  const { screenshot } = progress;
  const clock = context.clock.part(`turn ${index}`, plan.turnTimeoutMs);
  const sizes = await sizesOf(screenshot, policy, clock);
  const described = plan.promptStyle === 'compact' ? '' : await describeActions(plan.dialect, sizes, clock);
  const prompt = buildPrompt({
    ...history,
    style: plan.promptStyle,
    describeActions: () => described,
    goal: goalOf(request.task, context.environment.initialState),
    screenshot,
    historyTurns: plan.historyTurns,
    historyScreenshots: plan.historyScreenshots,
  });
  const requestedAt = performance.now();
  const grammar = await answerGrammar(plan, sizes, clock);
  const message = policyRequest(request, plan, context.playId, index, prompt, {
    waitMs: clock.leftMs,
    grammar,
  });
  const reply = await policy.act(message, clock);
  const { saysTokens = true } = policy;
  const turn = beginTurn(
    index,
    reply,
    screenshot,
    plan.temperature,
    performance.now() - requestedAt,
    saysTokens,
  );
  history.past.push({ screenshot: shownImage(screenshot), text: prompt.text, answer: reply.text });
  const answer = await readAnswer(plan.dialect, reply.text, sizes, clock);
  history.correction = answer.ok ? undefined : answer.correction;
  if (!answer.ok) {
    turn.outcome = 'no_action';
    turn.parseError = `${answer.reason}: ${answer.correction}`;
    progress.states.push(lastState(context, progress));
    progress.turns.push(turn);
    context.onTurn?.(turn);
    return false;
  }
  const actedAt = performance.now();
  const done = await executeActions(
    answer.actions,
    `${request.rolloutId}/${index}`,
    context.environment,
    clock,
  );
  turn.actions = done.actions.map((action) => ({ ...action }));
  turn.outcome = done.outcome;
  progress.states.push(done.screenshot === undefined ? lastState(context, progress) : done.state);
  if (done.screenshot !== undefined) {
    turn.envMs = roundMs(performance.now() - actedAt);
    context.storeScreenshot(done.screenshot);
    progress.screenshot = done.screenshot;
  }
  progress.turns.push(turn);
  context.onTurn?.(turn);
  return done.ended;
}

/** Without an image for the model, as for a screen that is only text, coordinates are pixels of the screenshot. */
async function sizesOf(screenshot: Screenshot, policy: Policy, clock: Clock): Promise<ScreenSizes> {
  const size = { width: screenshot.width, height: screenshot.height };
  const isShown = shownImage(screenshot) !== null;
  return { screenshot: size, modelImage: isShown ? await policy.modelImage(size, clock) : size };
}

/** Without an action, the state is unchanged. */
function lastState({ environment }: EpisodeContext, { states }: EpisodeProgress): State | undefined {
  return states.length === 0 ? environment.initialState : states.at(-1);
}
