import { join } from 'node:path';
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { ModelError } from '../errors';
import { readOptionalJson } from '../json-file';
import { IncrementalDecoder } from './incremental';
import { bytesOfToken, spellingOf, type Spelling } from './token-bytes';

type Json = Record<string, unknown>;

/** More token ids than any vocabulary has. Tables by id take time and memory proportional to the largest one. */
const MOST_IDS = 2 ** 24;

/** The parsed files of a tokenizer. */
export interface TokenizerFiles {
  /** tokenizer.json */
  tokenizer: Json;
  /** tokenizer_config.json */
  tokenizerConfig?: Json;
  /** generation_config.json, for the tokens that end a generation */
  generationConfig?: Json;
  /** Where the files come from, for messages. */
  source?: string;
}

/**
 * Text ↔ token ids of one model, according to its `tokenizer.json`.
 *
 * {@link encode} adds nothing to a text: special tokens are in the text, where the chat template put them.
 */
export class Tokenizer {
  /** Special tokens by their text, without added tokens that are ordinary text, such as `<tool_call>`. */
  readonly specialTokens: ReadonlyMap<string, number>;
  /** Tokens that end a generation, the end-of-turn token first. */
  readonly eosTokenIds: readonly number[];
  /** Named tokens of tokenizer_config.json such as `eos_token`, for chat templates. */
  readonly namedTokens: Readonly<Record<string, string>>;
  /** Tokens that the post-processor prepends to every text, such as the beginning-of-sequence token. */
  readonly beginningIds: readonly number[];
  /** Whether a space is added before text after a special token, as in the first tokenizers of Llama. */
  readonly spacesAdded: boolean;
  /** Largest token id plus one. */
  readonly vocabSize: number;

  private longest: number | undefined;
  private readonly inner: HuggingFaceTokenizer;
  private readonly source: string;
  private readonly spelling: Spelling;

  /** @throws ModelError `bad-file` if the files do not describe a tokenizer. */
  constructor({
    tokenizer,
    tokenizerConfig = {},
    generationConfig = {},
    source = 'tokenizer.json',
  }: TokenizerFiles) {
    this.source = source;
    refuseOddTokens(tokenizer, source);
    this.spelling = spellingOf(tokenizer);
    // The library cleans up spaces by default; transformers does not.
    const config = {
      ...tokenizerConfig,
      clean_up_tokenization_spaces: tokenizerConfig.clean_up_tokenization_spaces === true,
    };
    this.inner = described(source, () => new HuggingFaceTokenizer(withRequiredKeys(tokenizer), config));
    const added = [...this.inner.get_added_tokens_decoder()];
    this.specialTokens = new Map(
      added.flatMap(([id, { content, special }]) => (special ? [[content, id]] : [])),
    );
    this.namedTokens = namedTokensOf(tokenizerConfig);
    this.vocabSize = largest(this.inner.get_vocab().values()) + 1;
    this.eosTokenIds = this.findEosTokens(generationConfig);
    this.beginningIds = described(source, () => this.findBeginning());
    this.spacesAdded = described(source, () => this.addsSpaces());
  }

  /**
   * Reads `tokenizer.json`, and `tokenizer_config.json` and `generation_config.json` if present.
   * @throws ModelError `missing-file` or `bad-file`.
   */
  static async load(dir: string): Promise<Tokenizer> {
    const tokenizer = await readOptionalJson(join(dir, 'tokenizer.json'));
    if (tokenizer === undefined) {
      throw new ModelError(
        'missing-file',
        `${dir} has no tokenizer.json; models with only a slow (Python) tokenizer must be saved once with a fast one`,
      );
    }
    return new Tokenizer({
      tokenizer,
      tokenizerConfig: await readOptionalJson(join(dir, 'tokenizer_config.json')),
      generationConfig: await readOptionalJson(join(dir, 'generation_config.json')),
      source: join(dir, 'tokenizer.json'),
    });
  }

  /** Token ids of a text. Text that spells a special token becomes that token; see {@link encodePlain}. */
  encode(text: string): number[] {
    return text === '' ? [] : this.inner.encode(text, { add_special_tokens: false }).ids;
  }

  /** Token ids of a text without recognizing special tokens. */
  encodePlain(text: string): number[] {
    const { normalizer, pre_tokenizer: preTokenizer, model } = this.inner;
    const normalized = normalizer === null ? text : normalizer.normalize(text);
    if (normalized === '' || model === null) return [];
    const words = preTokenizer === null ? [normalized] : preTokenizer.pre_tokenize(normalized);
    return model.encode(words).map((token: string) => this.requireId(token));
  }

  /** Text of token ids, including special tokens unless skipped; bytes that are not valid UTF-8 become U+FFFD. */
  decode(tokenIds: readonly number[], options: { skipSpecialTokens?: boolean } = {}): string {
    if (tokenIds.length === 0) return '';
    return this.inner.decode([...tokenIds], { skip_special_tokens: options.skipSpecialTokens ?? false });
  }

  /** A decoder for a stream of tokens. */
  incremental(): IncrementalDecoder {
    return new IncrementalDecoder((tokenIds) => this.decode(tokenIds));
  }

  /** Id of a token by its text; undefined if the vocabulary lacks it. */
  idOf(token: string): number | undefined {
    return this.inner.token_to_id(token);
  }

  /** Token text of an id, as the vocabulary spells it. */
  tokenOf(id: number): string | undefined {
    return this.inner.id_to_token(id);
  }

  /** By id, the bytes that each token represents within a text; undefined for special tokens and unused ids. */
  tokenBytes(): (Uint8Array | undefined)[] {
    const added = this.inner.get_added_tokens_decoder();
    return Array.from({ length: this.vocabSize }, (_, id) => {
      const own = added.get(id);
      if (own !== undefined) return own.special ? undefined : Buffer.from(own.content, 'utf8');
      const token = this.tokenOf(id);
      return token === undefined ? undefined : bytesOfToken(token, this.spelling);
    });
  }

  /** Byte length of the longest token's text, including special tokens. */
  get longestTokenBytes(): number {
    const special = [...this.specialTokens.keys()].map((token) => Buffer.byteLength(token));
    this.longest ??= largest([...special, ...this.tokenBytes().map((bytes) => bytes?.length ?? 0)]);
    return this.longest;
  }

  /**
   * Id of a token that the model requires, such as `<|image_pad|>`.
   * @throws ModelError `bad-config` if the vocabulary lacks it.
   */
  requireId(token: string): number {
    const id = this.idOf(token);
    if (id === undefined) {
      const known = [...this.specialTokens.keys()].join(' ');
      throw new ModelError(
        'bad-config',
        `${this.source} has no token "${token}"; its special tokens are: ${known || 'none'}`,
      );
    }
    return id;
  }

  /** The token that ends a turn and closes a response. */
  get endOfTurnId(): number {
    const [id] = this.eosTokenIds;
    if (id === undefined) {
      throw new ModelError(
        'bad-config',
        `${this.source}: no end-of-turn token is known; set "eos_token" in tokenizer_config.json or "eos_token_id" in generation_config.json`,
      );
    }
    return id;
  }

  private findBeginning(): number[] {
    const plain = this.inner.encode('a', { add_special_tokens: false }).ids;
    const framed = this.inner.encode('a', { add_special_tokens: true }).ids;
    return framed.slice(0, Math.max(0, framed.indexOf(plain[0])));
  }

  private addsSpaces(): boolean {
    const [special] = this.specialTokens.keys();
    if (special === undefined) return false;
    return this.tokenOf(this.encode(`${special}a`)[1])?.startsWith('▁') === true;
  }

  private findEosTokens(generationConfig: Json): number[] {
    const named = this.namedTokens.eos_token;
    const ids = named === undefined ? [] : [this.requireId(named)];
    const listed = generationConfig.eos_token_id;
    for (const id of Array.isArray(listed) ? listed : [listed]) {
      if (typeof id === 'number' && !ids.includes(id)) ids.push(id);
    }
    return ids;
  }
}

/** Vocabularies are too large for `Math.max(...ids)`. */
function largest(ids: Iterable<number>): number {
  let found = -1;
  for (const id of ids) if (id > found) found = id;
  return found;
}

/** The library parses most of a file lazily, on first use. */
function described<T>(source: string, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    const reason = String(cause).slice(0, 300);
    throw new ModelError('bad-file', `${source} does not describe a tokenizer: ${reason}`, { cause });
  }
}

/**
 * Rejects faults that the library would iterate over or destructure without validation.
 * @throws ModelError if a token is not a string, or its id is invalid or so large that tables over all ids would
 *   never finish
 */
function refuseOddTokens(tokenizer: Json, source: string): void {
  const vocab = (tokenizer.model as Json | null | undefined)?.vocab;
  // A list contains its tokens in the order of their ids.
  const byToken = typeof vocab === 'object' && vocab !== null && !Array.isArray(vocab) ? (vocab as Json) : {};
  const added = Array.isArray(tokenizer.added_tokens) ? (tokenizer.added_tokens as (Json | null)[]) : [];
  for (const token of Object.keys(byToken)) refuseOddToken(token, byToken[token], source);
  for (const token of added) refuseOddToken(token?.content, token?.id, source);
}

function refuseOddToken(token: unknown, id: unknown, source: string): void {
  const fits = typeof id === 'number' && id >= 0 && id < MOST_IDS && id % 1 === 0;
  if (fits && typeof token === 'string') return;
  throw new ModelError(
    'bad-file',
    `${source}: token ${JSON.stringify(token)} has id ${JSON.stringify(id)}, expected a text with a whole number from 0 to ${MOST_IDS - 1}`,
  );
}

/** Files may omit keys whose value is null. */
function withRequiredKeys(tokenizer: Json): Json {
  return {
    normalizer: null,
    pre_tokenizer: null,
    post_processor: null,
    decoder: null,
    added_tokens: [],
    ...tokenizer,
  };
}

/** `eos_token` and similar fields, given as text or as `{content}`. */
function namedTokensOf(config: Json): Record<string, string> {
  const tokens: Record<string, string> = {};
  for (const [name, value] of Object.entries(config)) {
    if (!name.endsWith('_token')) continue;
    const content = typeof value === 'object' && value !== null ? (value as Json).content : value;
    if (typeof content === 'string') tokens[name] = content;
  }
  return tokens;
}
