import 'reflect-metadata';

export type { Action } from '@ui-rl/actions';
export type { RunEvent, RunProfile, Task, Trajectory, Turn } from '@ui-rl/contracts';
export type { Policy } from '@ui-rl/episode';
export type { RunFile, RunFileOptions } from '@ui-rl/settings';
export {
  calibrate,
  calibrateModel,
  type CalibrateModelOptions,
  type CalibrateOptions,
} from './doctor/calibrate';
export type { Calibration, Fit } from './doctor/calibration';
export { examine, type DoctorOptions } from './doctor/doctor';
export {
  isEndpoint,
  modelChoice,
  modelOfCandidate,
  namedCandidates,
  openCandidate,
} from './evaluate/candidate';
export {
  evaluate,
  type EvalProgress,
  type EvaluateOptions,
  type StartedEvaluation,
} from './evaluate/evaluate';
export { evaluationProgress } from './evaluate/progress';
export type { CandidateResult, Comparison, EpisodeScore, EvalReport, TaskResult } from './evaluate/report';
export { evaluationTable } from './evaluate/table';
export {
  EXPORT_FORMATS,
  exportEpisodes,
  FileEpisodes,
  IMPORT_FORMATS,
  importEpisodes,
  MonitorEpisodes,
  playTeacher,
  rescoreEpisodes,
  type ChangedScore,
  type EpisodeFilter,
  type EpisodeSource,
  type ExportedFile,
  type ExportEpisodesOptions,
  type ExportFormat,
  type ImportedFile,
  type ImportEpisodesOptions,
  type ImportFormat,
  type LeftOut,
  type MonitorAddress,
  type PlayTeacherOptions,
  type RescoredFile,
  type RescoreEpisodesOptions,
  type TaughtEpisodes,
} from './episodes';
export type { Finding } from './doctor/finding';
export { ask, type Terminal } from './local/ask';
export { aborted, withCleanup, type OnEnd } from './local/cleanup';
export { Fleet, type FleetOptions } from './local/fleet';
export { SERVICES, type ServiceName } from './local/members';
export { ManagedProcess, type ProcessSpec } from './local/managed-process';
export { serverName } from './local/claim-store';
export { freePort, startLocalNats, type LocalNats } from './local/nats-server';
export { serviceProgram } from './local/project';
export { assertWritable } from './local/writable-folder';
export { makeRunsFolder } from './local/runs-folder';
export { earlierRecords } from './local/earlier-records';
export { loadForModel, type LoadedForModel } from './model/action-format';
export type { Conversation, Screen } from './model/conversation';
export { readConversation } from './model/conversation-file';
export {
  describeModel,
  describeNamedModel,
  describeShape,
  type AdapterSize,
  type ModelDescription,
  type RunSize,
  type StoredWeights,
} from './model/describe-model';
export { deviceFor, type EngineChoice } from './model/engine-choice';
export {
  EXPORT_DTYPES,
  exportCheckpoint,
  type Exported,
  type ExportOptions,
} from './model/export-checkpoint';
export { locateCheckpoint } from './model/locate-checkpoint';
export { chooseModel, holdsAdapter, type ChosenModel, type ModelChoice } from './model/model-choice';
export { modelFolder, type FetchOptions } from './model/model-folder';
export { RANDOM_DTYPES, randomModel, type RandomOptions } from './model/random-model';
export { supportedFamilies, type SupportedFamily } from './model/supported-families';
export {
  VisionLanguageModel,
  type Answer,
  type LoadOptions,
  type Prediction,
  type SampleOptions,
  type Scores,
} from './model/vision-language-model';
export { newPlugin, type NewPlugin, type NewPluginOptions } from './plugins/new-plugin';
export { preparationOf } from './plugins/package-files';
export { followRun } from './report/follow-run';
export { evaluationInWords, percent, percentWithInterval } from './report/intervals';
export { clock, ProgressDisplay } from './report/progress';
export {
  beforeAfterTable,
  type QuickstartReport,
  type ReportFacts,
  type Score,
} from './report/quickstart-report';
export { RunObserver } from './report/run-observer';
export { profileText, readProfile } from './report/run-profile';
export { bytesText, countText } from './report/sizes';
export { ASSUMED } from './run/assumed';
export { announceRun } from './run/announce';
export { brokerVariable, connectCommand } from './run/command-bus';
export { checkRun, type RunCheck } from './run/check-run';
export { hasRecords, RecordedRuns, type DeletedRecords } from './run/recorded-runs';
export { findMonitor, findMonitorPage, type FoundMonitor } from './run/monitor-page';
export { openRecords, type OpenRecords, type OpenRecordsOptions } from './run/open-records';
export { publishTask, type PublishedTask, type PublishOptions } from './run/publish-task';
export {
  deleteRuns,
  endedBefore,
  listRuns,
  showRun,
  stopRun,
  type KnownRun,
  type MeasuredRun,
} from './run/runs';
export { editRun } from './run/edit-run';
export { startRun, type RunOptions, type StartedRun, type TrainResult } from './run/start-run';
export { train } from './run/train';
export { serveTinker, type ServedTinker, type ServeTinkerOptions } from './serve/tinker';
export { Player, type EpisodeResult } from './task/player';
export { runTask, runTasks, type TaskOptions, type TasksOptions } from './task/run-tasks';
