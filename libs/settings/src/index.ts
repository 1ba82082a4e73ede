export { ALIASES, aliasInWords } from './aliases';
export { SettingsError, type SettingsErrorCategory, type SettingsProblem } from './errors';
export { ENVIRONMENT_VARIABLES } from './environment-variables';
export {
  describeComponents,
  describeRunFile,
  type DescribedComponent,
  type DescribedGroup,
  type DescribedOption,
  type RunFileDescription,
} from './describe-run-file';
export { describeRun } from './describe-run';
export { componentsHelp, optionsHelp } from './help';
export { FolderInUseError, isAlive, lockFolder } from './folder-lock';
export { refuseKeys, refuseUnreadKeys, takeKeys, type KeyFlags } from './key-flags';
export type { HubSettings } from './hub-settings';
export { writeModelNames, type ModelNames } from './model-names';
export { LOCAL_CONTEXT, readNatsContext, type NatsContext } from './nats-context';
export { filesOfRun, isModelName, modelsOfRun } from './named-files';
export { keptSecret, writePrivateFile } from './private-file';
export { projectRoot } from './project-root';
export {
  actorsWantedBy,
  loadRunFile,
  loadRunFileComponents,
  parseRunFile,
  readRunFile,
  refuseConflicts,
  samplersWantedBy,
  type LoadedRunFile,
  type ReadRunFile,
  type RunFileSource,
} from './read-run-file';
export { redactRunFile } from './redact';
export { openTrajectories, replacedGroups } from './open-trajectories';
export { trainableOf } from './trainable';
export { trainingMinutes, type TimeLimits } from './training-minutes';
export * from './run-file';
export { newRunId } from './run-id';
export {
  LOG_LEVELS,
  logLevels,
  readServiceSettings,
  fetchFolders,
  readVariables,
  type DatabaseSettings,
  type EndpointSettings,
  type EnvironmentEndpointSettings,
  type LogLevel,
  type MonitorSettings,
  type NatsSettings,
  type ServiceSettings,
} from './service-settings';
export { readCliSettings, type CliSettings } from './cli-settings';
export { UNSUPPORTED } from './unsupported';
export { taskMachine, taskUse } from './task-machine';
