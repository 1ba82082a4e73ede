import { BYTE_CHARACTERS, toByteLevel } from './byte-level';

/** Special tokens of the Qwen family, in the order of their ids. */
export const QWEN_SPECIAL_TOKENS = [
  '<|endoftext|>',
  '<|im_start|>',
  '<|im_end|>',
  '<|vision_start|>',
  '<|vision_end|>',
  '<|image_pad|>',
  '<|video_pad|>',
] as const;

export interface SmallTokenizerOptions {
  /** Largest integer that is a single token; at most 999. Default 255. */
  largestNumber?: number;
  /** Pixels per patch and axis. Default 16. */
  patchSize?: number;
  /** Patches per token and axis. Default 2. */
  mergeSize?: number;
  /** Smaller images are enlarged to this many pixels. Default: one token. */
  minPixels?: number;
  /** Larger images are downscaled to this many pixels. Default 2²⁰. */
  maxPixels?: number;
}

export interface SmallTokenizer {
  /** File name → content: the files of a Hugging Face folder besides configuration and weights. */
  files: Record<string, string>;
  /** Token text → id, including special tokens. */
  vocabulary: ReadonlyMap<string, number>;
  vocabSize: number;
}

/** The tokens of a compact chat template around messages and for images. */
export interface TemplateTokens {
  start: string;
  end: string;
  image: string;
}

const QWEN_TEMPLATE: TemplateTokens = {
  start: '<|im_start|>',
  end: '<|im_end|>',
  image: '<|vision_start|><|image_pad|><|vision_end|>',
};

/** A compact chat template: all messages have the same form, with images inline. */
export function compactTemplate({ start, end, image }: TemplateTokens = QWEN_TEMPLATE): string {
  return `{%- for message in messages %}
    {{- '${start}' + message.role + '\\n' }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- else %}
        {%- for part in message.content %}
            {%- if part.type == 'image' %}
                {{- '${image}' }}
            {%- else %}
                {{- part.text }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '${end}\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '${start}assistant\\n' }}
{%- endif %}
`;
}

/** Roles that the chat template writes after the start of a message. */
const ROLES = ['system', 'user', 'assistant', 'tool'];

/**
 * A tokenizer for a small model over a known set of words, as the files of a Hugging Face folder.
 *
 * Single tokens: the integers 0 … `largestNumber`, every word with and without a leading space, every piece (text
 * that is one token wherever it occurs, such as `{"action":"`; the longest match wins). All other text falls back to
 * bytes, so that every text survives encoding and decoding.
 *
 * @param words words or phrases (split at white space); empty: all text except the pieces is spelled in bytes.
 */
export function buildSmallTokenizer(
  words: readonly string[],
  pieces: readonly string[],
  options: SmallTokenizerOptions = {},
): SmallTokenizer {
  const spellsAll = words.length === 0;
  const said = spellsAll ? [] : [...ROLES, ...words];
  const single = distinct(said.flatMap((phrase) => phrase.split(/\s+/))).filter((word) => word !== '');
  // With the line feed, so that the same word within a message is not affected.
  const whole = spellsAll ? [...ROLES.map((role) => `${role}\n`), ...pieces] : pieces;
  const ordinary = ordinaryVocabulary(single, whole, options.largestNumber ?? 255);
  const vocabulary = new Map(ordinary);
  for (const token of QWEN_SPECIAL_TOKENS) vocabulary.set(token, vocabulary.size);
  return {
    files: {
      'tokenizer.json': pretty(tokenizerJson(ordinary, vocabulary, splitPattern(single, whole))),
      'tokenizer_config.json': pretty(tokenizerConfig()),
      'chat_template.jinja': compactTemplate(),
      'preprocessor_config.json': pretty(preprocessorConfig(options)),
      'generation_config.json': pretty(generationConfig(vocabulary)),
    },
    vocabulary,
    vocabSize: vocabulary.size,
  };
}

function ordinaryVocabulary(
  words: readonly string[],
  pieces: readonly string[],
  largest: number,
): Map<string, number> {
  if (!Number.isInteger(largest) || largest < 0 || largest > 999) {
    throw new RangeError(`largestNumber is ${largest}; expected an integer from 0 to 999`);
  }
  const vocabulary = new Map<string, number>();
  const add = (token: string) => {
    if (!vocabulary.has(token)) vocabulary.set(token, vocabulary.size);
  };
  for (const character of BYTE_CHARACTERS) add(character);
  for (let number = 0; number <= largest; number++) add(String(number));
  for (const piece of pieces) add(toByteLevel(piece));
  for (const word of words) {
    add(toByteLevel(word));
    add(toByteLevel(` ${word}`));
  }
  return vocabulary;
}

const LETTERS = /^\p{L}+$/u;

/**
 * The split pattern before look-up: pieces, words that contain more than letters, runs of letters, numbers of up to
 * three digits. Unmatched text stays between the matches and becomes bytes.
 */
function splitPattern(words: readonly string[], pieces: readonly string[]): string {
  const literalPieces = pieces.filter((piece) => !LETTERS.test(piece));
  const literalWords = words.filter((word) => !LETTERS.test(word));
  const alternatives = longestFirst(literalPieces).map(escape);
  if (literalWords.length > 0) {
    alternatives.push(` ?(?:${longestFirst(literalWords).map(escape).join('|')})(?![\\p{L}\\p{N}])`);
  }
  alternatives.push(' ?\\p{L}+', '[0-9]{1,3}');
  return alternatives.join('|');
}

function tokenizerJson(ordinary: Map<string, number>, all: Map<string, number>, pattern: string): object {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex: false };
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: QWEN_SPECIAL_TOKENS.map((content) => specialToken(content, all.get(content)!)),
    normalizer: null,
    pre_tokenizer: {
      type: 'Sequence',
      pretokenizers: [
        { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
        byteLevel,
      ],
    },
    post_processor: null,
    decoder: byteLevel,
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: null,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: true,
      vocab: Object.fromEntries(ordinary),
      merges: [],
    },
  };
}

function tokenizerConfig(): object {
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    bos_token: null,
    eos_token: '<|im_end|>',
    pad_token: '<|endoftext|>',
    unk_token: null,
    clean_up_tokenization_spaces: false,
    model_max_length: 8192,
  };
}

function preprocessorConfig({
  patchSize = 16,
  mergeSize = 2,
  minPixels,
  maxPixels = 2 ** 20,
}: SmallTokenizerOptions): object {
  return {
    image_processor_type: 'Qwen2VLImageProcessorFast',
    processor_class: 'Qwen3VLProcessor',
    size: { shortest_edge: minPixels ?? (patchSize * mergeSize) ** 2, longest_edge: maxPixels },
    patch_size: patchSize,
    temporal_patch_size: 2,
    merge_size: mergeSize,
    image_mean: [0.5, 0.5, 0.5],
    image_std: [0.5, 0.5, 0.5],
  };
}

function generationConfig(vocabulary: ReadonlyMap<string, number>): object {
  return {
    eos_token_id: [vocabulary.get('<|im_end|>'), vocabulary.get('<|endoftext|>')],
    pad_token_id: vocabulary.get('<|endoftext|>'),
  };
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

function longestFirst(texts: readonly string[]): string[] {
  return distinct(texts).toSorted((a, b) => b.length - a.length);
}

/** Escapes only characters that both Oniguruma and JavaScript's `u` flag allow to escape. */
function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function pretty(value: object): string {
  return `${JSON.stringify(value, null, 1)}\n`;
}

/** A special token as `tokenizer.json` lists it. */
export function specialToken(content: string, id: number): Record<string, unknown> {
  return {
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  };
}
