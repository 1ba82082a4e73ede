import type { EvaluationScore, EvaluatorState, OpenEvaluation, Trajectory } from '@ui-rl/contracts';
import { evaluationId, type Stage } from './episodes';
import { withSums } from './metrics';
import type { EvaluationPlan } from './plan';

/** Outcome of an episode, one character each. */
const PENDING = '.';
const SUCCESS = 's';
const FAILURE = 'f';
/** Judged only by rewards. */
const UNJUDGED = 'u';
const INVALID = 'x';

export const EMPTY: EvaluatorState = { open: [], stagesDone: [], lastPeriodicStep: 0 };

export interface StageStart {
  stage: Stage;
  policy: string;
  policyVersion: number;
}

/** Starts a stage: one evaluation per set. Null if it was already started. */
export function begin(state: EvaluatorState, plan: EvaluationPlan, start: StageStart): EvaluatorState | null {
  const { stage, policyVersion } = start;
  const known =
    stage === 'periodic'
      ? policyVersion <= state.lastPeriodicStep
      : state.stagesDone.includes(stage) || state.open.some((evaluation) => evaluation.stage === stage);
  if (known) return null;
  const opened = plan.sets.map(({ name, tasks }): OpenEvaluation => ({
    ...start,
    evaluationId: evaluationId(plan.runId, stage, policyVersion, name),
    set: name,
    released: false,
    outcomes: PENDING.repeat(tasks.length * plan.episodesPerTask),
    refills: {},
  }));
  const next = { ...state, open: [...state.open, ...opened] };
  if (stage === 'periodic') return { ...next, lastPeriodicStep: policyVersion };
  return opened.length === 0 ? { ...next, stagesDone: [...state.stagesDone, stage] } : next;
}

export type Verdict = 'count' | 'refill' | 'ignore';

/**
 * The meaning of a trajectory for an evaluation. One that was already counted, or whose refill was requested, is
 * ignored.
 */
export function classify(state: EvaluatorState, trajectory: Trajectory, maxAttempts: number): Verdict {
  const { request, status } = trajectory;
  const evaluation = find(state, request.evaluationId);
  const index = request.groupIndex;
  if (evaluation === undefined || evaluation.outcomes[index] !== PENDING) return 'ignore';
  if (request.attempt !== attemptAt(evaluation, index)) return 'ignore';
  return status === 'invalid' && request.attempt + 1 < maxAttempts ? 'refill' : 'count';
}

/** The state after a trajectory; null if it is unchanged. */
export function record(
  state: EvaluatorState,
  trajectory: Trajectory,
  maxAttempts: number,
): EvaluatorState | null {
  const verdict = classify(state, trajectory, maxAttempts);
  if (verdict === 'ignore') return null;
  const { evaluationId: id, groupIndex: index, attempt } = trajectory.request;
  return update(state, id, (evaluation) =>
    verdict === 'refill'
      ? { ...evaluation, refills: { ...evaluation.refills, [index]: attempt + 1 } }
      : {
          ...evaluation,
          outcomes: replaceAt(evaluation.outcomes, index, outcomeOf(trajectory)),
          ...(trajectory.status === 'invalid' ? {} : { sums: withSums(evaluation.sums, trajectory) }),
        },
  );
}

export function markReleased(state: EvaluatorState, id: string): EvaluatorState | null {
  return update(state, id, (evaluation) => ({ ...evaluation, released: true }));
}

/**
 * Removes an evaluation whose result was published, and records its result; a stage is complete with the last of its
 * sets.
 */
export function close(state: EvaluatorState, id: string, score: EvaluationScore): EvaluatorState | null {
  const evaluation = find(state, id);
  if (evaluation === undefined) return null;
  const open = state.open.filter((other) => other !== evaluation);
  const { stage } = evaluation;
  const stageGoesOn = stage === 'periodic' || open.some((other) => other.stage === stage);
  const stagesDone = stageGoesOn ? state.stagesDone : [...state.stagesDone, stage];
  return { ...state, open, stagesDone, scores: withScore(state.scores, score) };
}

/** For each set, the best score before the latest, that of the warm start, and the latest. */
function withScore(scores: readonly EvaluationScore[] = [], newest: EvaluationScore): EvaluationScore[] {
  const { stage, set, policyVersion, checkpoint, successRate, interval } = newest;
  const ofSet = scores.filter((score) => score.set === set && score.successRate !== null);
  const [best] = ofSet.toSorted((a, b) => b.successRate! - a.successRate!);
  const kept = ofSet.filter((score) => score === best || score.stage === 'warm_start');
  const others = scores.filter((score) => score.set !== set);
  return [...others, ...kept, { stage, set, policyVersion, checkpoint, successRate, interval }];
}

export function attemptAt(evaluation: OpenEvaluation, index: number): number {
  return evaluation.refills[index] ?? 0;
}

/** Indices of the pending episodes. */
export function pendingEpisodes(evaluation: OpenEvaluation): number[] {
  return Array.from(evaluation.outcomes).flatMap((outcome, index) => (outcome === PENDING ? [index] : []));
}

export interface Tally {
  successes: number;
  /** Episodes with a verdict on success. */
  episodes: number;
  invalid: number;
  /** Valid episodes without one. */
  unjudged: number;
}

/** Counts the episodes `of` an evaluation. */
export function tally(evaluation: OpenEvaluation, of: (index: number) => boolean = () => true): Tally {
  const outcomes = Array.from(evaluation.outcomes).filter((_, index) => of(index));
  const count = (outcome: string) => outcomes.filter((found) => found === outcome).length;
  const successes = count(SUCCESS);
  return {
    successes,
    episodes: successes + count(FAILURE),
    invalid: count(INVALID),
    unjudged: count(UNJUDGED),
  };
}

function outcomeOf({ status, success }: Trajectory): string {
  if (status === 'invalid') return INVALID;
  if (success === null) return UNJUDGED;
  return success ? SUCCESS : FAILURE;
}

function replaceAt(text: string, index: number, character: string): string {
  return text.slice(0, index) + character + text.slice(index + 1);
}

function find(state: EvaluatorState, id: string | undefined): OpenEvaluation | undefined {
  return state.open.find((evaluation) => evaluation.evaluationId === id);
}

function update(
  state: EvaluatorState,
  id: string | undefined,
  change: (evaluation: OpenEvaluation) => OpenEvaluation,
): EvaluatorState | null {
  const evaluation = find(state, id);
  if (evaluation === undefined) return null;
  return { ...state, open: state.open.map((other) => (other === evaluation ? change(other) : other)) };
}
