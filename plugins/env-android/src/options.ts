import { Doc } from '@ui-rl/plugin-kit';
import { IsArray, IsInt, IsObject, IsOptional, IsString, Matches, Max, Min } from 'class-validator';

/** Options of the environment; the options of a task's episode are an `AndroidTask`. */
export class AndroidOptions {
  @Doc(
    'devices by serial, as `adb devices` lists them, or host:port; default: those that the env service allows, else all emulators',
  )
  @IsArray()
  @IsString({ each: true })
  @Matches(/^[\w.:[\]%-]{1,100}$/, { each: true, message: 'must be serials such as emulator-5554' })
  serials: string[] = [];

  @Doc('snapshot that emulators load before each episode, by its name')
  @IsOptional()
  @IsString()
  @Matches(/^[\w.-]{1,64}$/, { message: 'must be the name of a snapshot: letters, digits, _ . -' })
  snapshot?: string;

  @Doc('settings to write before each episode: {"global window_animation_scale": 0}')
  @IsObject()
  reset_settings: Record<string, unknown> = {};

  @Doc('packages to stop before each episode')
  @IsArray()
  @IsString({ each: true })
  reset_stop: string[] = [];

  @Doc('time between an action and its screenshot, in milliseconds')
  @IsInt()
  @Min(0)
  @Max(10_000)
  delay_ms = 1_000;
}
