import { ModelError } from '../errors';
import type { Family } from '../families/base';
import { OWN_HEAD } from '../families/common/decoder-config';
import type { WeightStore } from './store';

type Json = Record<string, unknown>;

const UNTIED = { tie_word_embeddings: false };

/** The configuration with an untied output layer. Some families tie it unless the top level says otherwise. */
export function withOwnHead(config: Json): Json {
  const text = config.text_config as Json | null | undefined;
  const isTied = text?.tie_word_embeddings === true;
  return { ...config, ...UNTIED, ...(isTied ? { text_config: { ...text, ...UNTIED } } : {}) };
}

/**
 * The configuration with the output layer of the weight files: if they contain one that differs from the embeddings,
 * it takes precedence over `tie_word_embeddings` (`tie_weights` of transformers 5).
 * @throws ModelError if there is no output layer and the embeddings are not tied.
 */
export async function withStoredHead(config: Json, family: Family, weights: WeightStore): Promise<Json> {
  const names = family.parameters().map(({ name }) => name);
  const isTied = !names.includes(OWN_HEAD);
  if (!weights.has(OWN_HEAD)) {
    if (isTied) return config;
    throw new ModelError(
      'bad-file',
      `${weights.source}: tensor "${family.checkpointName(OWN_HEAD)}" is missing; if the output layer of this model is its ` +
        'embeddings, set "tie_word_embeddings": true in config.json, else its files are incomplete',
    );
  }
  const embeddings = names.find((name) => name.endsWith('.embed_tokens.weight'));
  if (!isTied || embeddings === undefined || !weights.has(embeddings)) return config;
  return (await weights.areEqual(embeddings, OWN_HEAD)) ? config : withOwnHead(config);
}
