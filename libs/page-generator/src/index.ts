export { LivePage, type PageAction, type PageEvent } from './live/live-page';
export { COLOR_NAMES } from './look/colors';
export { ICON_NAMES } from './look/icons';
export { FIRST_HELD_OUT_SEED } from './look/kits';
export { generatePage, type GenerateOptions } from './generate';
export {
  SCENE_KINDS,
  WIDGET_KINDS,
  type GeneratedPage,
  type PartItem,
  type PlacedKind,
  type PagePart,
  type PartAction,
  type SceneKind,
  type Screen,
  type Viewport,
  type WidgetKind,
} from './page';
export { PageRenderer, type RendererOptions } from './render/renderer';
export {
  ELEMENT_KINDS,
  type Box,
  type ElementAttributes,
  type ElementKind,
  type ElementState,
  type ScreenTruth,
  type TruthCharacter,
  type TruthElement,
} from './truth';
export { SHAPE_NAMES } from './widgets/shapes';
