/** What the `runs` bucket holds, see `runKeys`. */

export const RUN_PHASES = ['baseline', 'training', 'final_eval', 'finished', 'failed', 'stopped'] as const;
export type RunPhase = (typeof RUN_PHASES)[number];

export interface RunRecord {
  runId: string;
  /** ISO 8601. */
  createdAt: string;
  /** The validated run file, snake_case as users write it. Secrets are not part of it. */
  config: Record<string, unknown>;
}

/** The model that a run trains over, by a name that other machines understand: part of a checkpoint's `state.json`. */
export interface BaseModel {
  /** As the run file says: `organisation/name` on the hub, or a name that services know by `UIRL_MODELS`. */
  name: string;
  /** The commit of the hub that was taken. */
  commit?: string;
}

export interface RunState {
  phase: RunPhase;
  /** ISO 8601 time of the change. */
  since: string;
  reason?: string;
}

export interface PolicyState {
  /** Optimizer steps behind the policy that samples now; 0 is the model as loaded. */
  version: number;
  adapterDigest: string;
  /** `uirl://<run>/sampler_weights/000080`. */
  checkpoint: string;
  /**
   * Training groups the learner has requested since the start. The task-loader releases groups until it has released
   * as many: `(version + 1 + max_steps_off_policy) · groups_per_batch` plus refills for groups without signal.
   */
  groupsRequested: number;
}

export interface LoaderState {
  groupsReleased: number;
}

/** One evaluation of one set of goals that is not finished. */
export interface OpenEvaluation {
  evaluationId: string;
  stage: 'baseline' | 'periodic' | 'final';
  set: string;
  /** `latest`, or a checkpoint name. */
  policy: string;
  /** Policy version, where it is known before the first episode. */
  policyVersion: number;
  /** Every rollout is in the queue. */
  released: boolean;
  /** One character per episode: `.` pending, `s` success, `f` none, `x` invalid in every attempt. */
  outcomes: string;
  /** Attempts behind the present one, of episodes that were refilled: index of the episode → attempts. */
  refills: Record<string, number>;
}

export interface EvaluatorState {
  open: OpenEvaluation[];
  /** Evaluations whose result was published: `baseline`, `final`. */
  stagesDone: string[];
  /** Step of the newest checkpoint whose periodic evaluation was begun; 0 before the first. */
  lastPeriodicStep: number;
}
