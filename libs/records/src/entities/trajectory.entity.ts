import type {
  PhaseTimes,
  PlayedEnvironment,
  Purpose,
  RolloutRequest,
  TrajectoryStatus,
} from '@ui-rl/contracts';
import { Column, CreateDateColumn, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity';

/** One episode; the rollout id is the key, so that each is counted exactly once. */
@Entity('trajectories')
@Index('trajectories_run_finished', ['runId', 'finishedAt'])
@Index('trajectories_run_version', ['runId', 'purpose', 'policyVersion'])
@Index('trajectories_run_task', ['runId', 'taskId'])
export class TrajectoryEntity {
  /** Rollout id. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'trajectories_pk' })
  id: string;

  @ForeignKey(() => RunEntity, { name: 'trajectories_run_fk', onDelete: 'CASCADE' })
  @Column({ name: 'run_id', type: 'text' })
  runId: string;

  @Column({ type: 'text' })
  purpose: Purpose;

  @Column({ name: 'group_id', type: 'text' })
  groupId: string;

  @Column({ name: 'group_index', type: 'integer' })
  groupIndex: number;

  @Column({ name: 'evaluation_id', type: 'text', nullable: true })
  evaluationId: string | null;

  /** The task's id, or its description if it has none. */
  @Column({ name: 'task_id', type: 'text' })
  taskId: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ type: 'text' })
  status: TrajectoryStatus;

  @Column({ name: 'invalid_reason', type: 'text', nullable: true })
  invalidReason: string | null;

  /** The verifier's verdict; null if the task has no checks. */
  @Column({ type: 'boolean', nullable: true })
  success: boolean | null;

  @Column({ type: 'double precision' })
  reward: number;

  /** Part of the reward → its sum over the episode. */
  @Column({ type: 'jsonb' })
  rewards: Record<string, number>;

  /** Reward that judges success → its verdict on the episode; null if there is none. */
  @Column({ type: 'jsonb', nullable: true })
  verdicts: Record<string, boolean> | null;

  /** The checks that failed, in words; null if the episode has no results of checks. */
  @Column({ name: 'failed_checks', type: 'text', array: true, nullable: true })
  failedChecks: string[] | null;

  /** Its environment; null if none was opened, or an older actor played it. */
  @Column({ type: 'jsonb', nullable: true })
  environment: PlayedEnvironment | null;

  /** How long its phases took; null if it was not played to its end, or by an older actor. */
  @Column({ name: 'phase_times', type: 'jsonb', nullable: true })
  times: PhaseTimes | null;

  /** Name of the verifier that judged it. */
  @Column({ type: 'text', nullable: true })
  verifier: string | null;

  /** Index of the first turn after which all checks of the task held; null if there is none or it is unknown. */
  @Column({ name: 'first_success', type: 'integer', nullable: true })
  firstSuccess: number | null;

  /** Whether the agent said at the end that it succeeded; null if it did not finish. */
  @Column({ name: 'reported_success', type: 'boolean', nullable: true })
  reportedSuccess: boolean | null;

  /** Answers without a readable action. */
  @Column({ name: 'parse_errors', type: 'integer', nullable: true })
  parseErrors: number | null;

  /** Answers with an unknown action. */
  @Column({ name: 'tool_errors', type: 'integer', nullable: true })
  toolErrors: number | null;

  /** Answers whose action has wrong arguments. */
  @Column({ name: 'argument_errors', type: 'integer', nullable: true })
  argumentErrors: number | null;

  /** Turns whose last action the environment could not perform. */
  @Column({ name: 'runtime_errors', type: 'integer', nullable: true })
  runtimeErrors: number | null;

  /** Turns that repeat the actions of the turn before. */
  @Column({ name: 'repeated_actions', type: 'integer', nullable: true })
  repeatedActions: number | null;

  @Column({ name: 'turn_count', type: 'integer' })
  turnCount: number;

  /** Sampled tokens of all turns. */
  @Column({ name: 'token_count', type: 'integer' })
  tokenCount: number;

  /** Policy version of the last turn; null if no turn was sampled. */
  @Column({ name: 'policy_version', type: 'integer', nullable: true })
  policyVersion: number | null;

  @Column({ name: 'final_screenshot', type: 'text', nullable: true })
  finalScreenshot: string | null;

  /** The state of the first frame; null if the environment reports none. */
  @Column({ name: 'initial_state', type: 'jsonb', nullable: true })
  initialState: Record<string, unknown> | null;

  @Column({ name: 'final_state', type: 'jsonb', nullable: true })
  finalState: Record<string, unknown> | null;

  /** The rollout request as the actor received it. */
  @Column({ type: 'jsonb' })
  request: RolloutRequest;

  @Column({ type: 'text' })
  actor: string;

  @Column({ name: 'started_at', type: 'timestamptz' })
  startedAt: Date;

  @Column({ name: 'finished_at', type: 'timestamptz' })
  finishedAt: Date;

  @CreateDateColumn({ name: 'recorded_at', type: 'timestamptz' })
  recordedAt: Date;
}
