import type { Family } from '../base';
import { qwen3VlFrom } from '../qwen3-vl';
import { parseQwen35Config } from './config';

/**
 * Qwen3.5, 3.6 and 3.8, dense: the vision tower of Qwen3-VL without deepstack, and a decoder in which three layers of
 * linear attention (Gated DeltaNet, arXiv:2412.06464) alternate with one layer of softmax attention that has an
 * output gate.
 */
export function qwen35(json: unknown, file: string): Family {
  return qwen3VlFrom({ name: 'qwen3-5', modelType: 'qwen3_5' }, parseQwen35Config(json, file));
}
