export { openApplication, openMicroservice } from './applications';
export { causesOf, Misconfigured } from './failures';
export { OwedEpisodes, type OwedEpisodesParts } from './owed-episodes';
export { PrintableLogger } from './printable-logger';
export { receiveRunFile, type RunFileReceiver } from './receive-run-file';
export { RunService, type RunServiceOptions, type ServedRun } from './run-service';
export { decideOnUnservedRuns } from './unserved-runs';
export { onStopSignal } from './stop-signal';
export { serviceMain, type RunningService, type ServiceContext } from './service-main';
