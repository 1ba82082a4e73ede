import type { ConfigurationGroup } from '@ui-rl/contracts';
import { Column, CreateDateColumn, Entity, PrimaryColumn } from 'typeorm';

/** One run. The row appears with the first message that names the run; `config` follows with `run_created`. */
@Entity('runs')
export class RunEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'runs_pk' })
  id: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz' })
  createdAt: Date;

  /** The validated run file. */
  @Column({ type: 'jsonb', default: {} })
  config: Record<string, unknown>;

  /** The same with what every option is about; null where the run was announced without. */
  @Column({ type: 'jsonb', nullable: true })
  configuration: ConfigurationGroup[] | null;

  @Column({ type: 'text', nullable: true })
  phase: string | null;

  @Column({ name: 'phase_since', type: 'timestamptz', nullable: true })
  phaseSince: Date | null;

  @Column({ name: 'phase_reason', type: 'text', nullable: true })
  phaseReason: string | null;
}
