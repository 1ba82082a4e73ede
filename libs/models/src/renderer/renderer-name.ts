import type { ChatTemplate } from '../chat';
import { ModelError } from '../errors';
import { question, rendered } from './answer-frame';

/** tinker-cookbook's names of the renderers of supported models, by `model_type`. */
const COOKBOOK_NAMES: Readonly<Record<string, readonly string[]>> = {
  qwen3_vl: ['qwen3_vl_instruct'],
  qwen3_vl_moe: ['qwen3_vl', 'qwen3_vl_instruct'],
};

/** Its names for models with optional reasoning: with reasoning, and without. */
const THINKING_NAMES: Readonly<Record<string, readonly [thinks: string, doesNot: string]>> = {
  qwen3_5: ['qwen3_5', 'qwen3_5_disable_thinking'],
  qwen3_5_moe: ['qwen3_5', 'qwen3_5_disable_thinking'],
};

/** Whether the template's prompts end with an open thought. */
function thinks(chat: ChatTemplate): boolean {
  const prompt = rendered(chat, [question], true) ?? '';
  return prompt.trimEnd().endsWith('<think>');
}

/**
 * Verifies that the expected renderer is the model's. A renderer belongs to its model: it is made of the chat
 * template and the tokenizer of the model folder, and is named by the `model_type` of config.json.
 * @param chat its template, if available: some names state whether the model reasons
 * @throws ModelError `unsupported` if the model has another renderer
 */
export function checkRendererName(expected: string, modelType: string, chat?: ChatTemplate): void {
  const byThinking = Object.hasOwn(THINKING_NAMES, modelType) ? THINKING_NAMES[modelType] : undefined;
  const own = chat && byThinking?.[thinks(chat) ? 0 : 1];
  const all = [...new Set([modelType, ...(COOKBOOK_NAMES[modelType] ?? []), ...(byThinking ?? [])])];
  const names = own === undefined ? all : [own];
  if (names.includes(expected)) return;
  const hint = byThinking?.includes(expected)
    ? `set model.thinking: ${expected === byThinking[0]}`
    : 'leave the option out, or choose another model';
  throw new ModelError(
    'unsupported',
    `renderer_name is ${expected}, but the model has its own: ${names.join(' or ')}; ${hint}`,
  );
}
