import { type Action, type ParseResult, readAction, type ScreenSizes } from '@ui-rl/actions';
import type { Screenshot } from '@ui-rl/contracts';
import type { Deadline } from '@ui-rl/plugin-kit';
import type { Clock } from './clock';
import type { EpisodeEnvironment, State } from './environment';
import { EpisodeFailure } from './failure';
import { inTime } from './in-time';
import type { EpisodePlan } from './plan';

type RunDialect = EpisodePlan['dialect'];

/** @throws EpisodeFailure `dialect` or `deadline`, Stopped */
export function describeActions(dialect: RunDialect, sizes: ScreenSizes, clock: Clock): Promise<string> {
  return callDialect(dialect, clock, (deadline) => dialect.instance.describe(sizes, deadline));
}

/**
 * The grammar of answers; undefined if they are not constrained.
 *
 * @throws EpisodeFailure `dialect` if the action format has none, or `deadline`, Stopped
 */
export async function answerGrammar(
  { constrainActions, dialect }: Pick<EpisodePlan, 'constrainActions' | 'dialect'>,
  sizes: ScreenSizes,
  clock: Clock,
): Promise<string | undefined> {
  if (!constrainActions) return undefined;
  const grammar = await callDialect(dialect, clock, (deadline) =>
    dialect.instance.grammar?.(sizes, deadline),
  );
  if (typeof grammar === 'string') return grammar;
  throw dialectFailure(dialect, 'has no grammar; rollout.constrain_actions needs one');
}

/**
 * Parses the policy's answer. Validates the result, because an action format from a plugin may be faulty, which must
 * not count as the policy's failure.
 *
 * @throws EpisodeFailure `dialect` or `deadline`, Stopped
 */
export async function readAnswer(
  dialect: RunDialect,
  text: string,
  sizes: ScreenSizes,
  clock: Clock,
): Promise<ParseResult> {
  const parsed = await callDialect(dialect, clock, (deadline) =>
    dialect.instance.parse(text, sizes, deadline),
  );
  if (!parsed.ok) return parsed;
  if (!Array.isArray(parsed.actions) || parsed.actions.length === 0) {
    throw dialectFailure(dialect, 'read an answer and gave no action, expected at least one');
  }
  const actions = parsed.actions.map((action) => {
    const read = readAction(action);
    if (read.ok) return read.action;
    throw dialectFailure(dialect, `returned an invalid action: ${read.correction}`);
  });
  return { ok: true, actions };
}

/** Within the time limit of the turn. */
function callDialect<T>(
  { name }: RunDialect,
  clock: Clock,
  call: (deadline: Deadline) => T | Promise<T>,
): Promise<T> {
  const what = `action dialect "${name}"`;
  return inTime('dialect', what, call, clock.part(what, clock.leftMs));
}

function dialectFailure({ name }: RunDialect, problem: string): EpisodeFailure {
  return new EpisodeFailure('dialect', `action dialect "${name}" ${problem}`);
}

/** The effect of an answer. */
export interface ExecutedActions {
  actions: Action[];
  /** Result of the last action. */
  outcome: string;
  /** Whether the agent or the environment ended the episode. */
  ended: boolean;
  /** Screenshot after the last action of the environment; undefined if it performed none. */
  screenshot?: Screenshot;
  /** The environment's state after that action; undefined if it does not report one. */
  state?: State | undefined;
}

/**
 * Executes the actions of an answer in order, until one is not `ok`, the environment ends the episode, or the agent
 * declares that it has finished.
 *
 * @param turnId prefix of the actions' ids: each is executed once, even if it is requested several times
 * @throws EpisodeFailure, Stopped
 */
export async function executeActions(
  actions: readonly Action[],
  turnId: string,
  environment: EpisodeEnvironment,
  clock: Clock,
): Promise<ExecutedActions> {
  const done: ExecutedActions = { actions: [], outcome: 'ok', ended: false };
  for (const [index, action] of actions.entries()) {
    done.actions.push(action);
    const isFinish = action.action === 'finish';
    if (isFinish && environment.takesFinish !== true) return { ...done, ended: true };
    const step = await clock.race(environment.step(`${turnId}.${index}`, action));
    done.outcome = step.outcome;
    done.screenshot = step.screenshot;
    done.state = step.state;
    done.ended = step.done || isFinish;
    if (done.ended || step.outcome !== 'ok') break;
  }
  return done;
}
