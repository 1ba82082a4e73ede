/** Text or image of a message. */
export interface ContentPart {
  type: 'text' | 'image';
  /** For `text`. */
  text?: string;
  /** For `image`: index among the given images. Default: order of appearance, if no part sets an index. */
  image?: number;
}

/** A tool call of the assistant, in the form that chat templates expect. */
export interface ToolCall {
  type?: 'function';
  function: { name: string; arguments: Record<string, unknown> | string };
}

/** One message of a conversation. A tool result is a message with role `tool`, and may contain images. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | ContentPart[];
  tool_calls?: ToolCall[];
}
