export { actingStage } from './acting/stage';
export { pointingStage } from './answering/stage';
export { readingStage } from './reading/stage';
export { recordScreens, type RecordOptions } from './stages/record';
export type { StageOptions } from './stages/stage';
export { drawScreens } from './supply/draw';
