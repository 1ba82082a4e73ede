import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity';

@Entity('checkpoints')
export class CheckpointEntity {
  @ForeignKey(() => RunEntity, { name: 'checkpoints_run_fk', onDelete: 'CASCADE' })
  @PrimaryColumn({ name: 'run_id', type: 'text', primaryKeyConstraintName: 'checkpoints_pk' })
  runId: string;

  /** `uirl://<run>/sampler_weights/000080`. */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'checkpoints_pk' })
  name: string;

  @Column({ type: 'integer' })
  step: number;

  /** Folder on the learner's disk. */
  @Column({ type: 'text' })
  path: string;

  @Column({ name: 'adapter_digest', type: 'text' })
  adapterDigest: string;

  @Column({ type: 'timestamptz' })
  at: Date;
}
