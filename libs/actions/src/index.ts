export * from './action';
export { COORDINATE_SPACES, type CoordinateSpace } from './coordinates';
export * from './dialect';
export * from './dialects';
export { formatOfModelName, formatOfModelType, type ActionFormat } from './model-formats';
export { keyOfName, keysWithShift, modifiersNamed, namesInChord } from './keys';
export { keystrokesOf, type Keystroke, type TypedText } from './keystrokes';
export { jsonDialect, readAction, type ActionResult } from './json-dialect';
export { jsonInSpace, WHOLE_SPACES } from './json-in-space';
export { actionMeaning, actionParameters, actionSchema, type JsonSchema } from './json-schema';
export { playwrightKey } from './playwright-keys';
export * from './prompt';
export { readBehindThoughts, type ReadAnswer, type Reading } from './thoughts';
export type { ScreenSizes, Size } from './sizes';
export { zoomRegion, type Region } from './zoom';
export {
  ACTION_NAMES,
  MAX_COORDINATE,
  MAX_KEYS,
  MAX_SCROLL_AMOUNT,
  MAX_SECONDS,
  MAX_TEXT_LENGTH,
  MAX_VIA,
  MAX_WINDOW,
} from './schema';
