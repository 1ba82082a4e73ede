import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity';

/** Score of one set of goals at one checkpoint. */
@Entity('evaluations')
export class EvaluationEntity {
  @ForeignKey(() => RunEntity, { name: 'evaluations_run_fk', onDelete: 'CASCADE' })
  @PrimaryColumn({ name: 'run_id', type: 'text', primaryKeyConstraintName: 'evaluations_pk' })
  runId: string;

  @PrimaryColumn({ name: 'evaluation_id', type: 'text', primaryKeyConstraintName: 'evaluations_pk' })
  evaluationId: string;

  /** `train_goals` or `eval_goals`. */
  @PrimaryColumn({ name: 'goal_set', type: 'text', primaryKeyConstraintName: 'evaluations_pk' })
  set: string;

  @Column({ type: 'text' })
  stage: string;

  @Column({ name: 'policy_version', type: 'integer' })
  policyVersion: number;

  @Column({ type: 'text' })
  checkpoint: string;

  /** Null if no episode has a verdict on success. */
  @Column({ name: 'success_rate', type: 'double precision', nullable: true })
  successRate: number | null;

  /** Wilson interval, 95 %. */
  @Column({ name: 'interval_low', type: 'double precision' })
  intervalLow: number;

  @Column({ name: 'interval_high', type: 'double precision' })
  intervalHigh: number;

  @Column({ type: 'integer' })
  episodes: number;

  @Column({ type: 'integer' })
  invalid: number;

  @Column({ type: 'timestamptz' })
  at: Date;
}

/** Score of one task within an evaluation. */
@Entity('evaluation_tasks')
@ForeignKey(() => EvaluationEntity, ['runId', 'evaluationId', 'set'], ['runId', 'evaluationId', 'set'], {
  name: 'evaluation_tasks_evaluation_fk',
  onDelete: 'CASCADE',
})
export class EvaluationTaskEntity {
  @PrimaryColumn({ name: 'run_id', type: 'text', primaryKeyConstraintName: 'evaluation_tasks_pk' })
  runId: string;

  @PrimaryColumn({ name: 'evaluation_id', type: 'text', primaryKeyConstraintName: 'evaluation_tasks_pk' })
  evaluationId: string;

  @PrimaryColumn({ name: 'goal_set', type: 'text', primaryKeyConstraintName: 'evaluation_tasks_pk' })
  set: string;

  @PrimaryColumn({ name: 'task_id', type: 'text', primaryKeyConstraintName: 'evaluation_tasks_pk' })
  taskId: string;

  @Column({ type: 'text' })
  description: string;

  @Column({ type: 'integer' })
  successes: number;

  @Column({ type: 'integer' })
  episodes: number;
}
