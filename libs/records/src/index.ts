export type { Faults } from './course';
export * from './database';
export * from './entities';
export * from './errors';
export { checkText } from './failed-checks';
export * from './generate';
export * from './migrate';
export { MonitorAnnouncement, openMonitors, type OpenMonitor } from './open-monitors';
export * from './queries/curves';
export { deleteRun, reclaimSpace } from './queries/delete-run';
export { findEpisode, findPrompt, findStep, listEpisodes } from './queries/episodes';
export { listInProgress, readHealth } from './queries/health';
export { compareEvaluations } from './queries/evaluations';
export {
  editRun,
  findConfiguration,
  findRun,
  listRunIds,
  listRuns,
  type RecordedConfiguration,
} from './queries/runs';
export { readRunOptions, type RunOptions } from './queries/run-columns';
export * from './queries/tasks';
export * from './queries/trajectories';
export * from './recorder';
export { type KeyedEvent, storable } from './rows';
export { ScreenshotFolder, screenshotsOf } from './screenshots';
export { embeddedUse, screenshotFolder, serverUse } from './store-use';
export * from './views';
