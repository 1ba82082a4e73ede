import type { ChatMessage, RenderedPrompt, Renderer } from '@ui-rl/models';
import type { Conversation, ConversationMessage } from '@ui-rl/plugin-kit';

interface Asked {
  messages: readonly ChatMessage[];
  images: readonly unknown[];
  tools?: readonly object[] | undefined;
}

/**
 * The source of a prompt, with every image by its hash: images of a prompt are in the order in which messages show
 * them.
 */
export function conversationOf(
  renderer: Renderer,
  { messages: asked, images: given, tools }: Asked,
  { images }: Pick<RenderedPrompt<{ sha256: string }>, 'images'>,
): Conversation {
  let shown = 0;
  const messages = renderer
    .templateMessages(asked, given.length)
    .map(({ role, content, tool_calls }): ConversationMessage => ({
      role,
      content: content.map((part) =>
        part.type === 'image'
          ? { type: 'image', sha256: images[shown++].sha256 }
          : { type: 'text', text: part.text ?? '' },
      ),
      ...(tool_calls === undefined ? {} : { toolCalls: tool_calls.map(toolCallOf) }),
    }));
  return tools === undefined || tools.length === 0 ? { messages } : { messages, tools };
}

type ToolCall = NonNullable<ChatMessage['tool_calls']>[number];

function toolCallOf({ function: { name, arguments: given } }: ToolCall): { name: string; arguments: string } {
  return { name, arguments: typeof given === 'string' ? given : JSON.stringify(given) };
}

/** The episode of a request: request ids are `<rollout>/<turn>`. */
export function episodeOf(requestId: string): string {
  const slash = requestId.lastIndexOf('/');
  return slash === -1 ? requestId : requestId.slice(0, slash);
}
