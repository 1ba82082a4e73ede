import type { PolicySpan } from '@ui-rl/contracts';
import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { TrajectoryEntity } from './trajectory.entity';

/** One turn: what the policy read, what it sampled, what came of it. */
@Entity('turns')
export class TurnEntity {
  @ForeignKey(() => TrajectoryEntity, { name: 'turns_trajectory_fk', onDelete: 'CASCADE' })
  @PrimaryColumn({ name: 'trajectory_id', type: 'text', primaryKeyConstraintName: 'turns_pk' })
  trajectoryId: string;

  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'turns_pk' })
  index: number;

  @Column({ name: 'prompt_token_ids', type: 'integer', array: true })
  promptTokenIds: number[];

  @Column({ name: 'prompt_images', type: 'text', array: true })
  promptImages: string[];

  @Column({ name: 'image_tokens', type: 'integer' })
  imageTokens: number;

  @Column({ name: 'token_ids', type: 'integer', array: true })
  tokenIds: number[];

  @Column({ type: 'double precision', array: true })
  logprobs: number[];

  /** What the distribution of each token was cut to, see `encodeKeptTokens` of contracts; null where none was. */
  @Column({ name: 'kept_tokens', type: 'text', nullable: true })
  keptTokens: string | null;

  @Column({ type: 'double precision' })
  temperature: number;

  @Column({ name: 'policy_version', type: 'integer' })
  policyVersion: number;

  @Column({ name: 'adapter_digest', type: 'text' })
  adapterDigest: string;

  /** Who sampled which tokens where the weights changed between them; null where one policy sampled all. */
  @Column({ name: 'policy_spans', type: 'jsonb', nullable: true })
  policySpans: PolicySpan[] | null;

  @Column({ type: 'text' })
  text: string;

  /** Those that were carried out, in order. */
  @Column({ type: 'jsonb' })
  actions: Record<string, unknown>[];

  @Column({ name: 'parse_error', type: 'text', nullable: true })
  parseError: string | null;

  @Column({ type: 'text', nullable: true })
  outcome: string | null;

  /** sha256 of the screenshot the policy saw. */
  @Column({ type: 'text' })
  screenshot: string;

  /** The screen as text, as the policy read it; null where it saw the screenshot alone. */
  @Column({ name: 'screen_text', type: 'text', nullable: true })
  screenText: string | null;

  @Column({ name: 'policy_ms', type: 'double precision' })
  policyMs: number;

  @Column({ name: 'env_ms', type: 'double precision' })
  envMs: number;

  /** What the rewards pay in this turn; null where none pays by turns. */
  @Column({ type: 'double precision', nullable: true })
  reward: number | null;

  /** The same by part. */
  @Column({ type: 'jsonb', nullable: true })
  rewards: Record<string, number> | null;
}
