import { type Action, type Dialect, type ParseResult, readAction, type ScreenSizes } from '@ui-rl/actions';
import { describeError } from '@ui-rl/bus';
import type { Screenshot } from '@ui-rl/contracts';
import type { Clock } from './clock';
import type { EnvironmentClient } from './environment';
import { EpisodeFailure } from './failure';
import type { EpisodePlan } from './plan';

type RunDialect = EpisodePlan['dialect'];

/** @throws EpisodeFailure `dialect` */
export function describeActions(dialect: RunDialect, sizes: ScreenSizes): string {
  return asked(dialect, (instance) => instance.describe(sizes));
}

/**
 * Reads what the policy answered. What a dialect makes of it is checked: one from outside may be wrong, which is not the policy's
 * failure.
 *
 * @throws EpisodeFailure `dialect`
 */
export function readAnswer(dialect: RunDialect, text: string, sizes: ScreenSizes): ParseResult {
  const parsed = asked(dialect, (instance) => instance.parse(text, sizes));
  if (!parsed.ok) return parsed;
  if (!Array.isArray(parsed.actions) || parsed.actions.length === 0) {
    throw broken(dialect, 'read an answer and gave no action, expected at least one');
  }
  const actions = parsed.actions.map((action) => {
    const read = readAction(action);
    if (read.ok) return read.action;
    throw broken(dialect, `gave what is no action: ${read.correction}`);
  });
  return { ok: true, actions };
}

function asked<T>(dialect: RunDialect, ask: (instance: Dialect) => T): T {
  try {
    return ask(dialect.instance);
  } catch (error) {
    throw broken(dialect, `failed: ${describeError(error)}`);
  }
}

function broken({ name }: RunDialect, problem: string): EpisodeFailure {
  return new EpisodeFailure('dialect', `action dialect "${name}" ${problem}`);
}

/** What came of an answer. */
export interface CarriedOut {
  actions: Action[];
  /** Of the last action. */
  outcome: string;
  /** The agent or the environment ended the episode. */
  ended: boolean;
  /** After the last action that the environment was asked for; none where there was no such action. */
  screenshot?: Screenshot;
}

/**
 * Carries out the actions of an answer in order, until one is not `ok`, the environment ends the episode, or the agent says that
 * it is done.
 *
 * @param turnId the actions' ids are made of it: each is executed once, however often it has to be asked for
 * @throws EpisodeFailure, Stopped
 */
export async function carryOut(
  actions: readonly Action[],
  turnId: string,
  environment: EnvironmentClient,
  clock: Clock,
): Promise<CarriedOut> {
  const done: CarriedOut = { actions: [], outcome: 'ok', ended: false };
  for (const [index, action] of actions.entries()) {
    done.actions.push(action);
    if (action.action === 'finish') return { ...done, ended: true };
    const step = await clock.race(environment.step(`${turnId}.${index}`, action));
    done.outcome = step.outcome;
    done.screenshot = step.screenshot;
    done.ended = step.done;
    if (step.done || step.outcome !== 'ok') break;
  }
  return done;
}
