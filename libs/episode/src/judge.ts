import type { Check, RolloutRequest, Trajectory, Turn } from '@ui-rl/contracts';
import {
  answerOf,
  checkHolds,
  type Action,
  type Deadline,
  type Episode,
  type EpisodeTurn,
} from '@ui-rl/plugin-kit';
import type { Clock } from './clock';
import type { State } from './environment';
import { EpisodeFailure } from './failure';
import { goalOf } from './goal';
import { inTime } from './in-time';
import type { EpisodePlan } from './plan';
import { addUp, sum, type Scored } from './score';
import type { Screenshots } from './screenshots';

/** A finished episode. */
export interface PlayedEpisode {
  request: RolloutRequest;
  status: Episode['status'];
  turns: readonly Turn[];
  /** sha256 of the screenshot after the last action. */
  finalScreenshot: string;
  /** The last screen as text, if the environment reports it. */
  finalText?: string | undefined;
  stateBefore: State;
  stateAfter: State;
  /** State after each turn; undefined if the environment did not report it. */
  states?: readonly (State | undefined)[];
  screenshots: Pick<Screenshots, 'observation'>;
}

type JudgingPlan = Pick<EpisodePlan, 'verifier' | 'rewards' | 'rewardsJudge' | 'turnTimeoutMs'>;

/**
 * Calls the verifier and the rewards. A training episode without any judge is not a failure of the policy, but a
 * reward of 0 would treat it as one.
 *
 * @throws EpisodeFailure that names the component that failed or timed out, Stopped
 */
export async function judge(
  played: PlayedEpisode,
  { verifier, rewards, rewardsJudge, turnTimeoutMs }: JudgingPlan,
  clock: Clock,
): Promise<
  Pick<Trajectory, 'success' | 'reward' | 'rewards' | 'verdicts' | 'turns' | 'verifier' | 'firstSuccess'>
> {
  const episode = episodeOf(played);
  const call = <T>(kind: 'verifier' | 'reward', name: string, work: (deadline: Deadline) => T | Promise<T>) =>
    inTime(kind, `${kind} "${name}"`, work, clock.part(`${kind} "${name}"`, turnTimeoutMs));
  const verdict: unknown = await call('verifier', verifier.name, (deadline) =>
    verifier.instance.verify(episode, deadline),
  );
  const success = readVerdict(verifier.name, verdict);
  if (success === null && !rewardsJudge && played.request.purpose === 'train') throw unjudged(verifier.name);
  const scored: Scored[] = [];
  for (const { name, instance } of rewards) {
    const result = await call('reward', name, (deadline) =>
      instance.score({ ...episode, success }, deadline),
    );
    scored.push({ name, result });
  }
  const score = addUp(scored, played.turns.length);
  const turns = played.turns.map((turn, index) => {
    const paid = score.turns?.[index];
    return paid === undefined ? turn : Object.assign(turn, { reward: sum(paid), rewards: paid });
  });
  const { reward, rewards: parts, verdicts } = score;
  const firstSuccess = firstSuccessOf(played);
  return {
    ...{ success, reward, rewards: parts, turns, verifier: verifier.name },
    verdicts,
    ...(firstSuccess < 0 ? {} : { firstSuccess }),
  };
}

/** Index of the first turn after which all checks of the task held; −1 if that is unknown or never was. */
function firstSuccessOf({ request, turns, states, stateAfter }: PlayedEpisode): number {
  const { checks = [] } = request.task;
  // Without states between turns, the final one says nothing of the first time.
  if (checks.length === 0 || states === undefined) return -1;
  return turns.findIndex((_, index) => {
    const isLast = index === turns.length - 1;
    const state = isLast && stateAfter !== null ? stateAfter : states[index];
    if (state === undefined || state === null) return false;
    const answer = answerOf(
      turns.slice(0, index + 1).map(({ actions }) => ({ actions: actions as unknown as Action[] })),
    );
    return checks.every((check, place) => holds(check, place, state, answer));
  });
}

/** A regular expression that does not end says nothing. */
function holds(check: Check, place: number, state: State, answer: string | undefined): boolean {
  try {
    return checkHolds(check, place, state, answer) === true;
  } catch {
    return false;
  }
}

function episodeOf({ request, status, turns, screenshots, ...played }: PlayedEpisode): Episode {
  return {
    task: { ...request.task, description: goalOf(request.task, played.stateBefore) },
    seed: request.seed,
    status,
    turns: turns.map((turn): EpisodeTurn => {
      const { index, text, parseError, outcome } = turn;
      const actions = turn.actions as unknown as Action[];
      const before = index === 0 ? played.stateBefore : played.states?.[index - 1];
      const after = played.states?.[index];
      return {
        index,
        observation: screenshots.observation(turn.screenshot, turn.screenText),
        text,
        actions,
        parseError,
        outcome,
        ...(before && played.states !== undefined ? { stateBefore: before } : {}),
        ...(after ? { stateAfter: after } : {}),
      };
    }),
    finalObservation: screenshots.observation(played.finalScreenshot, played.finalText),
    stateBefore: played.stateBefore,
    stateAfter: played.stateAfter,
  };
}

function unjudged(verifier: string): EpisodeFailure {
  return new EpisodeFailure(
    'unjudged',
    `verifier "${verifier}" cannot judge the task, and no reward of the run judges by itself: give the task checks, another verifier, or such a reward`,
  );
}

function readVerdict(name: string, verdict: unknown): boolean | null {
  if (typeof verdict === 'boolean' || verdict === null) return verdict;
  throw new EpisodeFailure(
    'verifier',
    `verifier "${name}" says ${JSON.stringify(verdict)}, expected true, false, or null where it cannot judge the task`,
  );
}
