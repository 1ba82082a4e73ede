export * from './database';
export * from './entities';
export * from './errors';
export { checkText } from './failed-checks';
export * from './generate';
export * from './migrate';
export * from './queries/curves';
export { findEpisode, findPrompt, findStep, listEpisodes } from './queries/episodes';
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
export * from './views';
