import type { ConfigurationGroup } from '@ui-rl/contracts';
import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** One run. The row is created by the first message that names the run; `config` follows with `run_created`. */
@Entity('runs')
export class RunEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'runs_pk' })
  id: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** The validated run file. */
  @Column({ type: 'jsonb', default: {} })
  config: Record<string, unknown>;

  /** The run file with the help of every option; null if the run was announced without it. */
  @Column({ type: 'jsonb', nullable: true })
  configuration: ConfigurationGroup[] | null;

  @Column({ type: 'text', nullable: true })
  phase: string | null;

  @Column({ name: 'phase_since', type: 'timestamptz', nullable: true })
  phaseSince: Date | null;

  @Column({ name: 'phase_reason', type: 'text', nullable: true })
  phaseReason: string | null;

  /** Given by a person; empty without one. */
  @Column({ type: 'text', default: '' })
  name: string;

  @Column({ type: 'text', default: '' })
  notes: string;

  @Column({ type: 'text', array: true, default: [] })
  tags: string[];

  /** Whether lists leave it out. */
  @Column({ type: 'boolean', default: false })
  archived: boolean;
}
