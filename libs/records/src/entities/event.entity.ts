import type { EpisodePhase, Purpose } from '@ui-rl/contracts';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { RunEntity } from './run.entity';

/** Phases, services that became ready, warnings, dead letters: the log that users read. */
@Entity('events')
@Index('events_run_type', ['runId', 'type', 'at'])
export class EventEntity {
  @ForeignKey(() => RunEntity, { name: 'events_run_fk', onDelete: 'CASCADE' })
  @PrimaryColumn({ name: 'run_id', type: 'text', primaryKeyConstraintName: 'events_pk' })
  runId: string;

  /** Message id of the event, or its sequence in the stream. */
  @PrimaryColumn({ name: 'event_key', type: 'text', primaryKeyConstraintName: 'events_pk' })
  eventKey: string;

  @Column({ type: 'text' })
  type: string;

  @Column({ type: 'timestamptz' })
  at: Date;

  /** The event as published. */
  @Column({ type: 'jsonb' })
  data: Record<string, unknown>;
}

/** A rollout that an actor has started. */
@Entity('rollout_starts')
export class RolloutStartEntity {
  @PrimaryColumn({ name: 'rollout_id', type: 'text', primaryKeyConstraintName: 'rollout_starts_pk' })
  rolloutId: string;

  @ForeignKey(() => RunEntity, { name: 'rollout_starts_run_fk', onDelete: 'CASCADE' })
  @Index('rollout_starts_run')
  @Column({ name: 'run_id', type: 'text' })
  runId: string;

  @Column({ type: 'text' })
  actor: string;

  @Column({ type: 'timestamptz' })
  at: Date;

  /** From here on as its actor said last; null if it has said nothing yet. */
  @Column({ type: 'text', nullable: true })
  purpose: Purpose | null;

  /** Id of the task, or the beginning of its description. */
  @Column({ type: 'text', nullable: true })
  task: string | null;

  @Column({ type: 'text', nullable: true })
  phase: EpisodePhase | null;

  @Column({ type: 'integer', nullable: true })
  turns: number | null;

  @Column({ name: 'max_turns', type: 'integer', nullable: true })
  maxTurns: number | null;

  @Column({ name: 'heartbeat_at', type: 'timestamptz', nullable: true })
  heartbeatAt: Date | null;
}
