export { SettingsError, type SettingsErrorCategory, type SettingsProblem } from './errors';
export { ENVIRONMENT_VARIABLES, environmentHelp } from './environment-variables';
export { parseFlags, type FlagValue } from './flags';
export { optionsHelp } from './help';
export type { HubSettings } from './hub-settings';
export { RUN_OPTIONS, UNSUPPORTED, type RunOption } from './options';
export type { ModelNames } from './model-names';
export { projectRoot } from './project-root';
export { parseRunFile, readRunFile, type RunFileSource } from './read-run-file';
export { redact, redactUrl } from './redact';
export type { RunFile, RunTaskSource } from './run-file';
export { newRunId } from './run-id';
export {
  LOG_LEVELS,
  logLevels,
  readServiceSettings,
  type DatabaseSettings,
  type LogLevel,
  type NatsSettings,
  type ServiceSettings,
} from './service-settings';
export { readCliSettings, type CliSettings } from './cli-settings';
