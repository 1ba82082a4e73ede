export * from './plugins';
export * from '@ui-rl/actions';
export {
  CHECK_OPERATORS,
  TASK_CATEGORIES,
  TASK_DIFFICULTIES,
  type EnvironmentSpec,
  type Reply,
  type RequestFailure,
  type Screenshot,
  type StateCheck,
  type Task,
  type TrajectoryStatus,
} from '@ui-rl/contracts';
