/** Alternative prefixes of names in files; see `Family.checkpointName`. */
const beginnings: readonly (readonly [RegExp, string])[] = [
  // The first release: each part as a standalone model, with its own `model` and `lm_head`, or `vision_model`.
  [/^lm_head\./, 'language_model.lm_head.'],
  [/^model\.language_model\./, 'language_model.model.'],
  // The decoder without its output layer inside the model, as in transformers from 4.52 on.
  [/^language_model\.model\./, 'language_model.'],
  [/^model\.vision_tower\.(?!vision_model\.)/, 'vision_tower.vision_model.'],
  [/^model\.(multi_modal_projector|image_newline)/, '$1'],
  // Folders written by transformers 5 and by the last releases before it.
  [/^vision_tower\.vision_model\./, 'vision_tower.'],
  [/^vision_tower\./, 'model.vision_tower.vision_model.'],
];

/** Names of weights in the files of the LLaVA families, see `Family.checkpointName`. */
export function llavaCheckpointName(name: string): string {
  const found = beginnings.find(([beginning]) => beginning.test(name));
  return found === undefined ? name : name.replace(...found);
}
