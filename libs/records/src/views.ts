/** What the queries answer: plain data, times as ISO 8601, ready to be sent as JSON. */
import type { PolicySpan, Purpose, RolloutRequest, Trajectory, TrajectoryStatus } from '@ui-rl/contracts';

export interface EvaluationView {
  evaluationId: string;
  stage: 'baseline' | 'warm_start' | 'periodic' | 'final';
  /** `train_goals` or `eval_goals`. */
  set: string;
  policyVersion: number;
  checkpoint: string;
  /** Null where no episode says whether it succeeded: all of them are invalid, or judged by rewards alone. */
  successRate: number | null;
  /** Of the valid episodes, where there is no rate; null where there is one, or no such episode. */
  meanReward: number | null;
  /** Wilson interval, 95 %. */
  interval: [number, number];
  episodes: number;
  invalid: number;
  at: string;
}

export interface RunSummary {
  id: string;
  createdAt: string;
  phase: string | null;
  phaseSince: string | null;
  phaseReason: string | null;
  /** Steps trained so far, a batch each. */
  steps: number;
  /** Recorded trajectories of every purpose, invalid ones included. */
  episodes: number;
  invalid: number;
  /** In order of time. */
  evaluations: EvaluationView[];
}

export interface CheckpointView {
  name: string;
  step: number;
  path: string;
  adapterDigest: string;
  at: string;
}

export interface LogEntry {
  type: string;
  at: string;
  data: Record<string, unknown>;
}

export interface RunDetail extends RunSummary {
  config: Record<string, unknown>;
  checkpoints: CheckpointView[];
  /** Latest first; phases, ready services and warnings. */
  log: LogEntry[];
  /** Rollouts that began within the last ten minutes and are not recorded yet. */
  inProgress: number;
}

/** Columns of equal length, one entry per policy version that sampled training episodes. */
export interface TrainingCurve {
  version: number[];
  /** Share of successes among judged episodes; null where none was judged. */
  successRate: (number | null)[];
  /** Mean reward of valid episodes. */
  reward: (number | null)[];
  episodes: number[];
  invalid: number[];
  /** Mean turns of valid episodes. */
  turns: (number | null)[];
}

export interface Curves {
  training: TrainingCurve;
  /** One entry per step; metric name → column, null where a step lacks the metric. */
  steps: { step: number[]; metrics: Record<string, (number | null)[]> };
  /** Recorded episodes of every purpose per interval of `seconds`; `at` in seconds since 1970. */
  throughput: { seconds: number; at: number[]; episodes: number[]; invalid: number[] };
}

export interface TaskScoreView {
  set: string;
  taskId: string;
  description: string;
  before: { successes: number; episodes: number } | null;
  /** The latest evaluation after the baseline. */
  after: { successes: number; episodes: number } | null;
}

/** Success rate minus that of the evaluation compared with, over the episodes that both have played with the same seeds. */
export interface RateDifference {
  value: number;
  /** 95 %, paired. */
  interval: [number, number];
  pairs: number;
}

export interface ComparedScore {
  successes: number;
  /** Valid ones. */
  episodes: number;
  /** Wilson interval, 95 %. */
  interval: [number, number];
  /** Null where there is nothing to compare with: for the evaluation itself, and where no pair of episodes is recorded. */
  difference: RateDifference | null;
}

export interface ComparedEvaluation extends EvaluationView {
  difference: RateDifference | null;
}

/** Evaluations of the same tasks, side by side. */
export interface EvaluationComparison {
  /** A set of goals, evaluated as the run went on; null: checkpoints that were evaluated one after the other. */
  set: string | null;
  /** Id of the evaluation that the others are compared with. */
  to: string;
  /** In order of time. */
  evaluations: ComparedEvaluation[];
  /** By task, a score for each evaluation; null where it has not played the task. */
  tasks: { taskId: string; description: string; scores: (ComparedScore | null)[] }[];
}

/** The episodes of a group that were trained. */
export interface StepGroup {
  groupId: string;
  description: string;
  episodes: EpisodeSummary[];
}

/** A step, and what it was trained on. */
export interface StepDetail {
  runId: string;
  step: number;
  at: string;
  metrics: Record<string, number>;
  /** The newest step of the run. */
  newest: number;
  /** Rollouts of the step that are not recorded (yet). */
  missing: number;
  groups: StepGroup[];
}

export interface EpisodeFilter {
  runId: string;
  purpose?: Purpose;
  status?: TrajectoryStatus;
  /** `unknown`: the task has no checks. */
  success?: 'yes' | 'no' | 'unknown';
  /** Part of the task's id or description, case-insensitive. */
  task?: string;
  /** The whole id. */
  taskId?: string;
  /** Id of the evaluation that they were played for. */
  evaluation?: string;
  /** `cursor` of the last page. */
  before?: string;
  /** At most 200. */
  limit?: number;
}

/** Episodes as they were published. */
export interface TrajectoryPage {
  trajectories: Trajectory[];
  /** Asks for the next page; null on the last. */
  cursor: string | null;
}

export interface EpisodeSummary {
  id: string;
  runId: string;
  purpose: Purpose;
  groupId: string;
  evaluationId: string | null;
  taskId: string;
  description: string;
  /** Task source that made the task; null for one that names none. */
  source: string | null;
  status: TrajectoryStatus;
  invalidReason: string | null;
  success: boolean | null;
  reward: number;
  turnCount: number;
  tokenCount: number;
  policyVersion: number | null;
  startedAt: string;
  finishedAt: string;
  /** First screenshot of the episode, where there is one. */
  thumbnail: string | null;
}

export interface EpisodePage {
  episodes: EpisodeSummary[];
  /** Asks for the next page; null on the last. */
  cursor: string | null;
}

export interface TurnView {
  index: number;
  text: string;
  /** Those that were carried out, in order; none where the answer could not be read. */
  actions: Record<string, unknown>[];
  parseError: string | null;
  outcome: string | null;
  /** sha256 of the screenshot the policy saw. */
  screenshot: string;
  /** The screen as text, as the policy read it; null where it saw the screenshot alone. */
  screenText: string | null;
  promptTokens: number;
  imageTokens: number;
  tokenIds: number[];
  logprobs: number[];
  temperature: number;
  policyVersion: number;
  adapterDigest: string;
  /** Who sampled which tokens where the weights changed between them; null where one policy sampled all. */
  policySpans: PolicySpan[] | null;
  policyMs: number;
  envMs: number;
  /** What the rewards paid in this turn; null where none pays by turns. */
  reward: number | null;
  /** The same by part. */
  rewards: Record<string, number> | null;
}

export interface EpisodeDetail extends EpisodeSummary {
  /** Part of the reward → its sum over the episode. */
  rewards: Record<string, number>;
  /** Reward that judges by itself → whether it calls the episode a success. */
  verdicts: Record<string, boolean> | null;
  request: RolloutRequest;
  actor: string;
  finalScreenshot: string | null;
  /** What the environment reported of its state when it opened. */
  initialState: Record<string, unknown> | null;
  /** And at the end. */
  finalState: Record<string, unknown> | null;
  /** Step that trained it. */
  trainedInStep: number | null;
  turns: TurnView[];
}

/** A message no service could read, as the `dead_letters` bucket holds it. */
export interface DeadLetterView {
  /** Key in the bucket. */
  key: string;
  at: string;
  service: string;
  subject: string;
  reason: string;
  /** The message, or its beginning. */
  payload: string;
  encoding: 'utf8' | 'base64';
  sizeBytes: number;
}
