import type { TrainedTurn } from '@ui-rl/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity';

/** A step's numbers for an episode. They may arrive before the episode. */
@Entity('trained_episodes')
export class TrainedEpisodeEntity {
  @PrimaryColumn({ name: 'rollout_id', type: 'text', primaryKeyConstraintName: 'trained_episodes_pk' })
  rolloutId: string;

  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'trained_episodes_pk' })
  step: number;

  @ForeignKey(() => RunEntity, { name: 'trained_episodes_run_fk', onDelete: 'CASCADE' })
  @Index('trained_episodes_run')
  @Column({ name: 'run_id', type: 'text' })
  runId: string;

  /** Mean over its sampled tokens; null if none has an advantage. */
  @Column({ type: 'double precision', nullable: true })
  advantage: number | null;

  /** By trained turn; empty for episodes beyond the limit of the event. */
  @Column({ type: 'jsonb' })
  turns: TrainedTurn[];
}
