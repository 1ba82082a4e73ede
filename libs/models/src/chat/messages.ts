/** Text or image of a message. */
export interface ContentPart {
  type: 'text' | 'image';
  /** For `text`. */
  text?: string;
  /** For `image`: which of the images given along; the images' order of appearance where no part says. */
  image?: number;
}

/** A call the assistant made, as chat templates know it. */
export interface ToolCall {
  type?: 'function';
  function: { name: string; arguments: Record<string, unknown> | string };
}

/** One message of a conversation. A tool result is a message of role `tool`, and may hold images. */
export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | ContentPart[];
  tool_calls?: ToolCall[];
}
