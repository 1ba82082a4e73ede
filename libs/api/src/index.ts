export { aborted, withCleanup, type OnEnd } from './local/cleanup';
export { Fleet, SERVICES, type FleetOptions } from './local/fleet';
export { ManagedProcess, type ProcessSpec } from './local/managed-process';
export { freePort, startLocalNats, type LocalNats } from './local/nats-server';
export { serviceProgram } from './local/project';
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
export { chooseModel, type ChosenModel, type ModelChoice } from './model/model-choice';
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
export { followRun } from './report/follow-run';
export { evaluationEpisodes, phaseGoal } from './report/goals';
export { percent, percentWithInterval } from './report/intervals';
export { clock, ProgressDisplay, progressLine, type PhaseGoal } from './report/progress';
export {
  beforeAfterTable,
  quickstartReport,
  type QuickstartReport,
  type ReportFacts,
  type Score,
} from './report/quickstart-report';
export { RunObserver } from './report/run-observer';
export { bytesText, countText } from './report/sizes';
export { announceRun, runEnd } from './run/announce';
export { decideOnLogDir } from './run/log-dir';
export { LocalRun, type LocalRunOptions } from './run/local-run';
export { train, type RunFileOptions, type TrainOptions, type TrainResult } from './run/train';
export { publishTask } from './run/publish-task';
