export { assertPlaceholders, promptChunks, type PromptChunk } from './placeholders';
export {
  makeRenderer,
  Renderer,
  type RenderedConversation,
  type RenderedPrompt,
  type RenderedSample,
  type RendererOptions,
  type RendererParts,
} from './renderer';
