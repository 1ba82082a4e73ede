import { Type } from 'class-transformer';
import { Allow, IsArray, IsBoolean, IsOptional, IsString, ValidateNested } from 'class-validator';

/**
 * The configuration of a run as people read it. It is made where the run is announced, since all of its components, those of
 * plugins too, are known there.
 */

export class ConfiguredOption {
  /** In the run file: `training.learning_rate`, `algorithm.loss.clip_high`, `rewards[0].bonus`. */
  @IsString()
  path: string;

  /** What it does; empty for an option that no component describes. */
  @IsString()
  doc: string;

  /** What fits, in words. */
  @IsString()
  expected: string;

  /** Of a chosen component its name; of a secret `[hidden]`; absent: it is not set. */
  @Allow()
  value?: unknown;

  /** What it is where nobody says anything; absent: not set then. */
  @Allow()
  default?: unknown;

  /** Its value is not the default. */
  @IsBoolean()
  differs: boolean;

  /** Of a choice: what the chosen component is. */
  @IsOptional()
  @IsString()
  component?: string;

  /** Of an option of a component: the path of its choice. */
  @IsOptional()
  @IsString()
  choice?: string;

  /** Why it has no effect in this run. */
  @IsOptional()
  @IsString()
  ineffective?: string;
}

export class ConfigurationGroup {
  /** `model.lora`; empty for options in no group. */
  @IsString()
  path: string;

  @IsString()
  doc: string;

  @IsArray()
  @ValidateNested({ each: true })
  @Type(() => ConfiguredOption)
  options: ConfiguredOption[];
}
