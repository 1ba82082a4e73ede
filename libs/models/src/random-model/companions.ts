import type { Family } from '../families/base';
import type { Conventions } from '../families/definition';
import { definitionOf } from '../families/registry';
import { compactTemplate } from '../tokenizer/build';
import { extendTokenizer } from './tokenizer';

type Json = Record<string, unknown>;

/** Every family that was made belongs to a definition. */
function conventionsOf({ shape }: Family): Conventions {
  return definitionOf(shape.modelType)!.conventions;
}

/** Files that contain tokens, which must be consistent with each other. */
function tokenizerFiles(family: Family, config: Json, base: Json): Record<string, Json> {
  const { specials: named, endOfTurn, pad } = conventionsOf(family);
  const specials = [...named, ...family.imageMarks.map((content) => ({ content }))];
  const size = family.shape.vocabSize;
  const { json, ids } = extendTokenizer(base, { config, size, specials });
  return {
    'tokenizer.json': json,
    'tokenizer_config.json': {
      tokenizer_class: 'PreTrainedTokenizerFast',
      eos_token: endOfTurn,
      pad_token: pad,
      clean_up_tokenization_spaces: false,
      model_max_length: family.shape.maxPositions,
    },
    'generation_config.json': {
      eos_token_id: [ids.get(endOfTurn), ids.get(pad)],
      pad_token_id: ids.get(pad),
    },
  };
}

/**
 * The missing files of a model folder besides configuration and weights: file name → content.
 * @param present files that already exist
 * @param base tokenizer.json of the small byte-level tokenizer to extend
 */
export function companionFiles(
  family: Family,
  config: Json,
  base: Json,
  present: ReadonlySet<string>,
): Record<string, string> {
  const files: Record<string, string> = {};
  const add = (name: string, content: Json): void => {
    if (!present.has(name)) files[name] = `${JSON.stringify(content)}\n`;
  };
  if (!present.has('tokenizer.json')) {
    for (const [name, content] of Object.entries(tokenizerFiles(family, config, base))) add(name, content);
    const { endOfTurn, image } = conventionsOf(family);
    files['chat_template.jinja'] = compactTemplate({ start: '<|im_start|>', end: endOfTurn, image });
  }
  if (!present.has('preprocessor_config.json') && !present.has('processor_config.json')) {
    add('preprocessor_config.json', conventionsOf(family).images(config));
  }
  return files;
}
