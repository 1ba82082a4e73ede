export { assertPlaceholders, promptChunks, type PromptChunk } from './placeholders';
export { checkRendererName } from './renderer-name';
export {
  makeRenderer,
  Renderer,
  type PromptOptions,
  type RenderedConversation,
  type RenderedPrompt,
  type RenderedSample,
  type RendererOptions,
  type RendererParts,
} from './renderer';
