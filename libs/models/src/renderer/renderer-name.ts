import { ModelError } from '../errors';

/** What tinker-cookbook calls the renderers of models that are supported here, by `model_type`. */
const COOKBOOK_NAMES: Readonly<Record<string, readonly string[]>> = {
  qwen3_vl: ['qwen3_vl_instruct'],
  qwen3_vl_moe: ['qwen3_vl', 'qwen3_vl_instruct'],
};

/**
 * Checks that messages go through the renderer somebody expects. A renderer belongs to its model: it is made of the chat template and the
 * tokenizer of the model folder, and bears the `model_type` of config.json.
 * @throws ModelError `unsupported` where the model has another one
 */
export function checkRendererName(expected: string, modelType: string): void {
  const names = [modelType, ...(COOKBOOK_NAMES[modelType] ?? [])];
  if (names.includes(expected)) return;
  throw new ModelError(
    'unsupported',
    `renderer_name is ${expected}, but the model has its own: ${names.join(' or ')}; leave the option out, or choose another model`,
  );
}
