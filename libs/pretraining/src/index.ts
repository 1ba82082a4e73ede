export { pretrain, type PretrainOptions } from './pretrain';
export { Random } from './random';
export { ACTION_PIECES, DEFAULT_SIZE, smallModelConfig, type SmallModelSize } from './small-model';
