export { Tokenizer, type TokenizerFiles } from './tokenizer';
export { IncrementalDecoder } from './incremental';
export {
  buildSmallTokenizer,
  QWEN_SPECIAL_TOKENS,
  type SmallTokenizer,
  type SmallTokenizerOptions,
} from './build';
