import { Type } from 'class-transformer';
import { Allow, IsArray, IsBoolean, IsOptional, IsString, ValidateNested } from 'class-validator';

/**
 * The configuration of a run for display. It is created where the run is announced, because all of its components,
 * including plugins, are known there.
 */

export class ConfiguredOption {
  /** Path in the run file: `training.learning_rate`, `algorithm.loss.clip_high`, `rewards[0].bonus`. */
  @IsString()
  path: string;

  /** Its help; empty for an option that no component describes. */
  @IsString()
  doc: string;

  /** Description of valid values. */
  @IsString()
  expected: string;

  /** The name of a chosen component; `[hidden]` for a secret; absent if it is not set. */
  @Allow()
  value?: unknown;

  /** Default value; absent if there is none. */
  @Allow()
  default?: unknown;

  /** Whether its value differs from the default. */
  @IsBoolean()
  differs: boolean;

  /** For a choice: the description of the chosen component. */
  @IsOptional()
  @IsString()
  component?: string;

  /** For an option of a component: the path of its choice. */
  @IsOptional()
  @IsString()
  choice?: string;

  /** Why it has no effect in this run. */
  @IsOptional()
  @IsString()
  ineffective?: string;
}

export class ConfigurationGroup {
  /** `model.lora`; empty for options outside of groups. */
  @IsString()
  path: string;

  @IsString()
  doc: string;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ConfiguredOption)
  options: ConfiguredOption[];
}
