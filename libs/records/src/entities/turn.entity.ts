import type { PolicySpan } from '@ui-rl/contracts';
import { Column, Entity, ForeignKey, PrimaryColumn } from 'typeorm';
import { TrajectoryEntity } from './trajectory.entity';

/** One turn: the policy's input, its sample, and the effect. */
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

  /** Kept tokens of cut distributions, see `encodeKeptTokens` of contracts; null if none was cut. */
  @Column({ name: 'kept_tokens', type: 'text', nullable: true })
  keptTokens: string | null;

  @Column({ type: 'double precision' })
  temperature: number;

  @Column({ name: 'policy_version', type: 'integer' })
  policyVersion: number;

  @Column({ name: 'adapter_digest', type: 'text' })
  adapterDigest: string;

  /** Which policy sampled which tokens, if the weights changed in between; null if one policy sampled all. */
  @Column({ name: 'policy_spans', type: 'jsonb', nullable: true })
  policySpans: PolicySpan[] | null;

  @Column({ type: 'text' })
  text: string;

  /** The text that each token adds; null if the policy did not return it. */
  @Column({ name: 'token_texts', type: 'text', array: true, nullable: true })
  tokenTexts: string[] | null;

  /** The prompt's text with U+FFFC in place of images; null if the policy did not return it. */
  @Column({ name: 'prompt_text', type: 'text', nullable: true })
  promptText: string | null;

  /** The executed actions, in order. */
  @Column({ type: 'jsonb' })
  actions: Record<string, unknown>[];

  @Column({ name: 'parse_error', type: 'text', nullable: true })
  parseError: string | null;

  @Column({ type: 'text', nullable: true })
  outcome: string | null;

  /** sha256 of the screenshot the policy saw. */
  @Column({ type: 'text' })
  screenshot: string;

  /** The screen as text, as the policy read it; null if it saw only the screenshot. */
  @Column({ name: 'screen_text', type: 'text', nullable: true })
  screenText: string | null;

  @Column({ name: 'policy_ms', type: 'double precision' })
  policyMs: number;

  @Column({ name: 'env_ms', type: 'double precision' })
  envMs: number;

  /** Reward of this turn; null if no reward function scores turns. */
  @Column({ type: 'double precision', nullable: true })
  reward: number | null;

  /** Reward of this turn by part. */
  @Column({ type: 'jsonb', nullable: true })
  rewards: Record<string, number> | null;
}
