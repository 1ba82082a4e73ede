import type { ChatMessage, ContentPart } from '@ui-rl/contracts';
import { textPart, withSystem } from '../conversation';
import { Fields } from '../fields';
import type { Conversation } from '../policy';
import { newId } from '../tools';
import { now } from '../usage';
import { readInput } from './input';
import { historyOf } from './request';
import { usageOf } from './resource';
import type { Responding } from './respond';

/** Limit on the summary's length. */
const MAX_SUMMARY_TOKENS = 1_024;

const ASK =
  'Sum up the conversation so far, to continue from: the request, the steps and findings so far, and the remaining steps.';

/**
 * Returns a shorter conversation to continue: the messages of user and system unchanged, and one item with the
 * policy's own summary of the rest, sampled like any other answer.
 *
 * @throws ApiError that names the field
 */
export async function compact(body: unknown, responding: Responding): Promise<object> {
  const fields = Fields.of(body);
  const model = fields.requiredText('model');
  const previous = fields.text('previous_response_id');
  const begun = previous === undefined ? undefined : historyOf(previous, responding);
  const input = fields.raw('input') ?? (begun === undefined ? undefined : []);
  if (input === undefined) throw fields.missing('input');
  const instructions = fields.text('instructions');
  fields.note('prompt_cache_key');
  fields.only('service_tier', 'auto', 'default');
  const { conversation, calls } = await readInput(input, { ...responding, begun, tools: [] });
  fields.end();
  const { policy, context, seal } = responding;
  const prompt = { kind: 'conversation' as const, conversation: asking(conversation, instructions) };
  const answer = await policy.answer({
    ...context,
    model,
    prompt,
    maxTokens: MAX_SUMMARY_TOKENS,
    stop: [],
  });
  const summary = {
    type: 'compaction',
    id: newId('cmp'),
    encrypted_content: seal.close({ summary: answer.text, calls }),
  };
  const kept = conversation.messages.filter(isKept).map((message) => itemOf(message, conversation));
  return {
    id: newId('resp'),
    object: 'response.compaction',
    created_at: now(),
    output: [...kept, summary],
    usage: usageOf(answer),
  };
}

/** The conversation, followed by the request for its summary. */
function asking(conversation: Conversation, instructions: string | undefined): Conversation {
  const ask: ChatMessage = { role: 'user', content: [textPart(ASK)] };
  const asked = { ...conversation, messages: [...conversation.messages, ask] };
  return instructions === undefined ? asked : withSystem(asked, instructions);
}

/** The user's texts, and the system messages. A message with only a picture is an outdated screen. */
function isKept({ role, content }: ChatMessage): boolean {
  return role === 'system' || (role === 'user' && content.some(({ type }) => type === 'text'));
}

function itemOf({ role, content }: ChatMessage, { images }: Conversation): object {
  const parts = content.map((part) => partOf(part, images));
  return { type: 'message', id: newId('msg'), status: 'completed', role, content: parts };
}

function partOf({ text, image }: ContentPart, images: readonly Uint8Array[]): object {
  if (image === undefined) return { type: 'input_text', text: text ?? '' };
  const png = Buffer.from(images[image]).toString('base64');
  return { type: 'input_image', image_url: `data:image/png;base64,${png}`, detail: 'auto' };
}
