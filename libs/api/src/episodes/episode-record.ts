import { Type } from 'class-transformer';
import {
  IsArray,
  IsBoolean,
  IsDefined,
  IsIn,
  IsNumber,
  IsOptional,
  IsString,
  MaxLength,
  ValidateNested,
} from 'class-validator';
import { Count, IsId, MAX_SCREEN_TEXT, NumbersByName, Task, type Trajectory } from '@ui-rl/contracts';

export class TurnRecord {
  /** The executed actions in ui-rl's vocabulary; empty if the answer could not be parsed. */
  @IsArray()
  actions: Record<string, unknown>[];

  @IsOptional()
  @IsString()
  outcome?: string;

  /** The screen as text, as the policy read it. */
  @IsOptional()
  @IsString()
  @MaxLength(MAX_SCREEN_TEXT)
  screen_text?: string;

  /** Whether the policy read only the text, without the screenshot. */
  @IsOptional()
  @IsBoolean()
  text_only?: boolean;

  @IsOptional()
  @IsNumber()
  reward?: number;
}

/** Properties that other formats have no place for: `ui_rl` of a chat line, `extra.ui_rl` of an ATIF trajectory. */
export class EpisodeRecord {
  @IsString()
  run: string;

  @IsId()
  rollout_id: string;

  @IsDefined()
  @ValidateNested()
  @Type(() => Task)
  task: Task;

  /** Seed of the environment. */
  @Count()
  seed: number;

  @IsIn(['completed', 'truncated'])
  status: 'completed' | 'truncated';

  /** The verifier's verdict; null if there is none. */
  @IsOptional()
  @IsBoolean()
  success: boolean | null;

  @IsNumber()
  reward: number;

  @NumbersByName()
  rewards: Record<string, number>;

  /** Version of the policy that answered the first turn. */
  @Count()
  policy_version: number;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => TurnRecord)
  turns: TurnRecord[];
}

/** @param trajectory a valid one */
export function recordOf({ request, status, success, reward, rewards, turns }: Trajectory): EpisodeRecord {
  return {
    run: request.runId,
    rollout_id: request.rolloutId,
    task: request.task,
    seed: request.seed,
    status: status as EpisodeRecord['status'],
    success: success ?? null,
    reward,
    rewards,
    policy_version: turns.at(0)?.policyVersion ?? 0,
    turns: turns.map(({ actions, outcome, screenText, promptImages, reward: own }): TurnRecord => ({
      actions,
      outcome,
      screen_text: screenText,
      ...(promptImages.length > 0 ? {} : { text_only: true }),
      reward: own,
    })),
  };
}
