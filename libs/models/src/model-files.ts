const companions = new Set([
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'vocab.json',
  'merges.txt',
  'chat_template.jinja',
  'chat_template.json',
  'preprocessor_config.json',
  'processor_config.json',
  'video_preprocessor_config.json',
  'generation_config.json',
]);

/**
 * Whether a file of a model folder defines how texts and images become inputs: tokenizer, template and processor
 * files.
 */
export function isCompanionFile(name: string): boolean {
  return companions.has(name);
}
