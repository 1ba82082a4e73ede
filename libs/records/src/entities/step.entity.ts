import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity';

/** One `train_step` event: a trained batch, in any number of optimizer steps. */
@Entity('steps')
@Index('steps_run_step', ['runId', 'step'])
export class StepEntity {
  @ForeignKey(() => RunEntity, { name: 'steps_run_fk', onDelete: 'CASCADE' })
  @PrimaryColumn({ name: 'run_id', type: 'text', primaryKeyConstraintName: 'steps_pk' })
  runId: string;

  /** Message id of the event, or its sequence in the stream. */
  @PrimaryColumn({ name: 'event_key', type: 'text', primaryKeyConstraintName: 'steps_pk' })
  eventKey: string;

  @Column({ type: 'integer' })
  step: number;

  @Column({ type: 'timestamptz' })
  at: Date;

  @Column({ type: 'jsonb' })
  metrics: Record<string, number>;

  @Column({ name: 'rollout_ids', type: 'text', array: true })
  rolloutIds: string[];
}
