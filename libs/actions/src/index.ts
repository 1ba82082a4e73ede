export * from './action';
export * from './dialect';
export * from './dialects';
export { jsonDialect, readAction, type ActionResult } from './json-dialect';
export * from './prompt';
export type { ScreenSizes, Size } from './sizes';
export {
  ACTION_NAMES,
  canonicalKey,
  MAX_COORDINATE,
  MAX_KEYS,
  MAX_SCROLL_AMOUNT,
  MAX_SECONDS,
  MAX_TEXT_LENGTH,
} from './schema';
