import { ModelError } from '../errors';
import type { SpecialToken } from '../families/definition';
import { specialToken } from '../tokenizer/build';

type Json = Record<string, unknown>;

/** The specification of a vocabulary to generate. */
export interface Vocabulary {
  /** config.json */
  config: Json;
  size: number;
  specials: readonly SpecialToken[];
}

/** One token per byte, which every byte-level tokenizer requires. */
const BYTES = 256;

function namedId({ keys = [] }: SpecialToken, config: Json): number | undefined {
  const text = (config.text_config ?? {}) as Json;
  return keys.map((key) => config[key] ?? text[key]).find((value) => typeof value === 'number');
}

/** Assigns special tokens the ids in the configuration, then the usual ones, then the largest free ones. */
function placeSpecials({ config, size, specials }: Vocabulary): Map<string, number> {
  const ids = new Map<string, number>();
  const taken = new Set<number>();
  const place = (content: string, id: number | undefined): void => {
    if (id === undefined || ids.has(content) || taken.has(id) || id >= size) return;
    ids.set(content, id);
    taken.add(id);
  };
  for (const token of specials) place(token.content, namedId(token, config));
  for (const { content, usual } of specials) place(content, usual);
  let free = size - 1;
  for (const { content } of specials) {
    while (taken.has(free)) free--;
    if (free >= 0) place(content, free);
  }
  return ids;
}

/** Assigns ordinary tokens to the remaining ids: those of `base` in order, then fillers that match no text. */
function placeOrdinary(base: readonly string[], size: number, specials: ReadonlySet<number>): Json {
  const vocabulary: Json = {};
  let next = 0;
  for (let id = 0; id < size; id++) {
    if (!specials.has(id)) vocabulary[next < base.length ? base[next++] : `<|unused_${id}|>`] = id;
  }
  if (next < Math.min(base.length, BYTES)) {
    throw new ModelError(
      'bad-config',
      `vocab_size is ${size}; expected at least ${BYTES + specials.size}: one token per byte and ${specials.size} special ones`,
    );
  }
  return vocabulary;
}

function vocabularyOf(base: Json): string[] {
  const vocabulary = ((base.model as Json | undefined)?.vocab ?? {}) as Record<string, number>;
  return Object.entries(vocabulary)
    .toSorted(([, a], [, b]) => a - b)
    .map(([token]) => token);
}

/**
 * A tokenizer for a model of any vocabulary size: the tokens of a small byte-level one, and the special tokens of a
 * family, at ids that match the configuration. Unused ids are fillers: they can be sampled and decoded, but no text
 * is encoded to them.
 * @param base tokenizer.json of the small one
 * @throws ModelError `bad-config` if the vocabulary is too small.
 */
export function extendTokenizer(
  base: Json,
  vocabulary: Vocabulary,
): { json: Json; ids: Map<string, number> } {
  const ids = placeSpecials(vocabulary);
  const ordinary = placeOrdinary(vocabularyOf(base), vocabulary.size, new Set(ids.values()));
  // The tokenizers library renumbers added tokens that the vocabulary does not contain.
  const vocab = { ...ordinary, ...Object.fromEntries(ids) };
  const added = [...ids].toSorted(([, a], [, b]) => a - b);
  const json = {
    ...base,
    added_tokens: added.map(([content, id]) => specialToken(content, id)),
    model: { ...(base.model as Json), vocab },
  };
  return { json, ids };
}
