export * from './kinds';
export * from './options';
export * from '@ui-rl/actions';
export {
  CHECK_KINDS,
  CHECK_OPERATORS,
  CHECK_RESULTS,
  isPageCheck,
  TASK_CATEGORIES,
  TASK_DIFFICULTIES,
  type Check,
  type CheckOperator,
  type CheckResult,
  type DownloadCheck,
  type ElementCheck,
  type EnvironmentSpec,
  type PageCheck,
  type RequestCheck,
  type StorageCheck,
  type Reply,
  type RequestFailure,
  type Screenshot,
  type StateCheck,
  type Task,
  type TrajectoryStatus,
} from '@ui-rl/contracts';
export {
  AnswerTooLong,
  boundedFetch,
  fetchFailure,
  lookupBeyondLink,
  serverError,
  type FetchLimits,
  type ServerError,
} from '@ui-rl/http';
export { Random } from '@ui-rl/random';
export { DEADLINES, MAX_WAIT_MS, RETRIES, retry, type RetryOptions, type RetryPolicy } from '@ui-rl/retry';
export * from './errors';
export * from './outside';
export { ComponentRegistry, missingComponent, type LoadedComponent } from './registry';
export { loadComponents, type LoadComponentsOptions } from './load';
export { judgesWithoutVerifier } from './judges';
export { didYouMean, nearest } from './nearest';
export { findChromium } from './find-chromium';
export { escapeHtml } from './html';
export { isRecord, show } from './show';
export {
  Sessions,
  type ClosedSession,
  type OpenSession,
  type SessionsOptions,
  type StepSession,
} from './sessions';
export { startThread } from './threads/start-thread';
export { answerOf } from './answers';
export { callPlugin } from './call-plugin';
export { readTask } from './tasks/read-task';
export { readYaml } from './read-yaml';
export { readTaskChoice, TaskChoiceOptions } from './tasks/choice-options';
export { refuseSharedGoals } from './tasks/goals';
export { sourcesOfSentences } from './tasks/grammars';
export { judgedBy, refuseUnjudged, warnOfCutTasks, type JudgedBy, type Judges } from './tasks/judged';
export { readLines, type TextLine } from './tasks/lines';
export { allOf, loadTasks, openTasks, sampleOf, type TaskMachine, type TaskUse } from './tasks/load-tasks';
export { storedSource } from './tasks/stored-source';
export { TaskEntries, TaskDefaults } from './tasks/task-entries';
export type { LoadedTask, TaskList, TaskPart } from './tasks/task-list';
export { plainText } from './plain-text';
export { checkHolds, compare, hasFields, valueAt, verify } from './verify';
export * from './android';
