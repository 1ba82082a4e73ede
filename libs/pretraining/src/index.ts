export { actingStage } from './acting/stage';
export { pointingStage } from './answering/stage';
export { readingStage } from './reading/stage';
export { recordScreens, type RecordOptions } from './stages/record';
export type { StageOptions } from './stages/stage';
export { TASK_KINDS, type TaskKind } from '@ui-rl/page-tasks';
export { drawScreens } from './supply/draw';
