export { pretrain, type PretrainOptions } from './pretrain';
export { ACTION_PIECES, DEFAULT_SIZE, smallModelConfig, type SmallModelSize } from './small-model';
export { pointQuestions } from './curriculum';
export { drawScreens } from './supply/draw';
