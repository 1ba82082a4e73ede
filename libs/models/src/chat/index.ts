export { ChatTemplate, type ChatTemplateOptions } from './template';
export type { ChatMessage, ContentPart, ToolCall } from './messages';
