/** Results of the queries: plain data with ISO 8601 times, ready for JSON. */
import type {
  Check,
  PhaseTimes,
  PlayedEnvironment,
  Purpose,
  RolloutRequest,
  TrainedTurn,
  Trajectory,
  TrajectoryStatus,
} from '@ui-rl/contracts';
import type { Faults } from './course';
import type { TurnEntity } from './entities';
import type { ServiceSign } from './health-views';

export type * from './health-views';

export interface EvaluationView {
  evaluationId: string;
  stage: 'baseline' | 'warm_start' | 'periodic' | 'final';
  /** `train_goals` or `eval_goals`. */
  set: string;
  policyVersion: number;
  checkpoint: string;
  /** Null if no episode has a verdict on success: all of them are invalid, or judged by rewards only. */
  successRate: number | null;
  /** Mean over the valid episodes, if there is no rate; null if there is one, or no such episode. */
  meanReward: number | null;
  /** Wilson interval, 95 %. */
  interval: [number, number];
  episodes: number;
  invalid: number;
  at: string;
}

/** Labels that people give a run. */
export interface RunLabels {
  /** Empty without one. */
  name: string;
  notes: string;
  tags: string[];
  /** Whether lists leave it out. */
  archived: boolean;
}

export interface RunSummary extends RunLabels {
  id: string;
  createdAt: string;
  phase: string | null;
  phaseSince: string | null;
  phaseReason: string | null;
  /** Number of trained steps, one batch each. */
  steps: number;
  /** Recorded trajectories of every purpose, including invalid ones. */
  episodes: number;
  invalid: number;
  /** In chronological order. */
  evaluations: EvaluationView[];
}

/** A run in a list. */
export interface ListedRun extends RunSummary {
  /** Share of successes in training at no more than 33 steps, evenly spaced; the last one is the newest. */
  successRates: number[];
}

/** An option whose value differs between runs. */
export interface DifferingOption {
  /** Path in the run file. */
  path: string;
  /** Run id → value; a run that does not set the option is absent. */
  values: Record<string, unknown>;
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
  /** Rollouts that started, or whose actors reported, within the last ten minutes and that are not recorded yet. */
  inProgress: number;
  /** The last sign of life of each service, latest first. */
  services: ServiceSign[];
  /** Training episodes that ended after the last step. */
  untrained: number;
  /** Since when it is paused; null if it is not, or has ended. */
  pausedSince: string | null;
  /** The reason that was given. */
  pauseReason: string | null;
}

export const RUN_SORTS = ['created', 'id', 'steps', 'episodes', 'success'] as const;
export type RunSort = (typeof RUN_SORTS)[number];
export const SORT_ORDERS = ['desc', 'asc'] as const;
export type SortOrder = (typeof SORT_ORDERS)[number];

/** Which runs to list. */
export interface RunFilter {
  /** Part of the id, the name, the notes or a tag, case-insensitive. */
  search?: string;
  /** Whether archived runs are listed, too. Default `no`. */
  archived?: 'yes' | 'no';
  /** Default `created`. `success`: of the latest evaluation of unseen goals. */
  sort?: RunSort;
  /** Default `desc`: the newest or largest first. */
  order?: SortOrder;
  /** Id of the last run of the previous page. */
  before?: string;
  /** At most 200, the default. */
  limit?: number;
}

/** Columns of equal length, one entry per policy version that sampled training episodes. */
export interface TrainingCurve {
  version: number[];
  /** Share of successes among judged episodes; null if none was judged. */
  successRate: (number | null)[];
  /** Mean reward of valid episodes. */
  reward: (number | null)[];
  episodes: number[];
  invalid: number[];
  /** Mean turns of valid episodes. */
  turns: (number | null)[];
}

/** Columns of equal length, one entry per step. */
export interface StepCurves {
  step: number[];
  /** Seconds since 1970. */
  at: number[];
  /** Trained tokens of this step and of all before it. */
  tokens: number[];
  /** Trained episodes of this step and of all before it. */
  episodes: number[];
  /** Metric name → column, null if a step lacks the metric. */
  metrics: Record<string, (number | null)[]>;
}

export interface Curves {
  training: TrainingCurve;
  steps: StepCurves;
  /**
   * Recorded episodes of every purpose per interval of `seconds`; `at` in seconds since 1970. `covered`: the seconds of
   * each interval in which the run was recorded; the first and the last one are usually incomplete.
   */
  throughput: { seconds: number; at: number[]; covered: number[]; episodes: number[]; invalid: number[] };
}

export interface TaskScoreView {
  set: string;
  taskId: string;
  description: string;
  before: { successes: number; episodes: number } | null;
  /** The latest evaluation after the baseline. */
  after: { successes: number; episodes: number } | null;
  /** After minus before, with its 95 % interval (Newcombe) and Fisher's exact test (p < 0.05); null without both. */
  change: { value: number; interval: [number, number]; isSignificant: boolean } | null;
}

/**
 * Success rate minus that of the compared evaluation, over the episodes that both have played with the same seeds.
 */
export interface RateDifference {
  value: number;
  /** Paired 95 % interval. */
  interval: [number, number];
  pairs: number;
  /** McNemar's exact test: p < 0.05. */
  isSignificant: boolean;
}

export interface ComparedScore {
  successes: number;
  /** Number of valid episodes. */
  episodes: number;
  /** Wilson interval, 95 %. */
  interval: [number, number];
  /** Null without a comparison: for the compared evaluation itself, and if no pair of episodes is recorded. */
  difference: RateDifference | null;
}

export interface ComparedEvaluation extends EvaluationView {
  difference: RateDifference | null;
}

/** Evaluations of the same tasks, side by side. */
export interface EvaluationComparison {
  /** A goal set that the run evaluated repeatedly; null: checkpoints that were evaluated one after the other. */
  set: string | null;
  /** Id of the evaluation to which the others are compared. */
  to: string;
  /** In chronological order. */
  evaluations: ComparedEvaluation[];
  /** By task, a score for each evaluation; null if it has not played the task. */
  tasks: { taskId: string; description: string; scores: (ComparedScore | null)[] }[];
}

/** The episodes of a group that were trained on. */
export interface StepGroup {
  groupId: string;
  description: string;
  episodes: (EpisodeSummary & GroupMember)[];
}

/** A step with its training data. */
export interface StepDetail {
  runId: string;
  step: number;
  at: string;
  metrics: Record<string, number>;
  /** The latest step of the run. */
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
  /** Id of their evaluation. */
  evaluation?: string;
  /** The text of a check that failed. */
  failedCheck?: string;
  /** Policy version of the last turn. */
  minVersion?: number;
  maxVersion?: number;
  /** The training step that they were trained in. */
  step?: number;
  minReward?: number;
  maxReward?: number;
  minTurns?: number;
  maxTurns?: number;
  /** Whether an answer could not be parsed. */
  parseFailure?: 'yes' | 'no';
  /** Default `ended`. */
  sort?: EpisodeSort;
  /** Default `desc`: the latest or largest first. */
  order?: SortOrder;
  /** `cursor` of the previous page. */
  before?: string;
  /** At most 200. */
  limit?: number;
}

export const EPISODE_SORTS = ['ended', 'reward', 'turns', 'tokens', 'duration'] as const;
export type EpisodeSort = (typeof EPISODE_SORTS)[number];

/** Episodes as published. */
export interface TrajectoryPage {
  trajectories: Trajectory[];
  /** Cursor of the next page; null on the last. */
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
  /** Task source that created the task; null if it names none. */
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
  /** First screenshot of the episode, if any. */
  thumbnail: string | null;
}

export interface EpisodePage {
  episodes: EpisodeSummary[];
  /** Cursor of the next page; null on the last. */
  cursor: string | null;
}

/** A turn as the page shows it; its prompt is a `TurnPrompt`. */
export interface TurnView extends Omit<
  TurnEntity,
  'trajectoryId' | 'promptTokenIds' | 'promptImages' | 'promptText' | 'keptTokens'
> {
  promptTokens: number;
  /** Numbers of the first step that trained on it, token by token; null if none did or recorded them. */
  trained: Omit<TrainedTurn, 'index'> | null;
}

export interface EpisodeDetail extends EpisodeSummary {
  /** Part of the reward → its sum over the episode. */
  rewards: Record<string, number>;
  /** Reward that judges success → its verdict on the episode. */
  verdicts: Record<string, boolean> | null;
  request: RolloutRequest;
  actor: string;
  finalScreenshot: string | null;
  /** The environment's initial state. */
  initialState: Record<string, unknown> | null;
  /** The environment's final state. */
  finalState: Record<string, unknown> | null;
  /** Null if none was opened, or an older actor played it. */
  environment: PlayedEnvironment | null;
  /** How long its phases took; null if it was not played to its end, or by an older actor. */
  times: PhaseTimes | null;
  /** Name of the verifier that judged it; null for an older or invalid episode. */
  verifier: string | null;
  /** Index of the first turn after which all checks of the task held; null if there is none or it is unknown. */
  firstSuccess: number | null;
  /** Whether the agent said at the end that it succeeded; null if it did not finish. */
  reportedSuccess: boolean | null;
  faults: Faults;
  /** Step that was trained on it. */
  trainedInStep: number | null;
  /** Its mean advantage in that step; null if it is not recorded. */
  advantage: number | null;
  /** The recorded episodes of its group, in the group's order. */
  group: GroupMember[];
  turns: TurnView[];
}

/** An episode beside the others of its group. */
export interface GroupMember {
  id: string;
  status: TrajectoryStatus;
  success: boolean | null;
  reward: number;
  turnCount: number;
  /** sha256 of its last screenshot; null if it has none. */
  lastScreenshot: string | null;
  /** Its mean advantage in the step, or in the first one that trained on it; null if it is not recorded. */
  advantage: number | null;
}

/** A check of an episode's task with its result. */
export interface JudgedCheck {
  check: Check;
  /** The check in words: `failedCheck` of an episode list. */
  text: string;
  /** Null if the episode has no result: it is invalid, or the environment did not evaluate the check. */
  holds: boolean | null;
  /** The value found, or the environment's words for it; null if unknown. */
  found: string | null;
}

/** A check that failed in episodes of a run. */
export interface FailedCheck {
  /** The check in words. */
  text: string;
  /** Number of episodes in which it failed. */
  episodes: number;
}

/** Successes of training episodes by task and by the policy version that sampled their last turn. */
export interface TaskHeatMap {
  /** Policy versions per column. */
  width: number;
  /** The first policy version of each column. */
  from: number[];
  /** Number of tasks; `tasks` has at most 200 of them, those with the most episodes. */
  total: number;
  /** The lowest success rate first. */
  tasks: TaskRow[];
}

export interface TaskRow {
  taskId: string;
  description: string;
  successes: number;
  /** Judged episodes. */
  episodes: number;
  /** By column: successes and judged episodes; null without any. */
  cells: ([successes: number, episodes: number] | null)[];
}

/** An episode with the results of its checks. */
export interface JudgedEpisode extends EpisodeDetail {
  checks: JudgedCheck[];
}

/** The prompt of a turn. */
export interface TurnPrompt {
  /** Tokens as the model read them, with the placeholders of images. */
  tokenIds: number[];
  /** sha256 of its images, in order. */
  images: string[];
  /** Its text with U+FFFC in place of each run of image placeholders; null if it is not recorded. */
  text: string | null;
}

/** An unreadable message, as stored in the `dead_letters` bucket. */
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

/** The storage that records take up. */
export interface StoreUse {
  /** Folder of an embedded database, or description of a server. */
  location: string;
  recordBytes: number;
  /** Null if the records do not include screenshots. */
  screenshotBytes: number | null;
}
