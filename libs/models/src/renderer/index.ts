export {
  assertPlaceholders,
  makeRenderer,
  Renderer,
  type RenderedConversation,
  type RenderedPrompt,
  type RenderedSample,
  type RendererOptions,
  type RendererParts,
} from './renderer';
export { cutHistory } from './history';
