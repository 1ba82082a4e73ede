import type { ImageProcessorKind } from '../image/preparation';
import type { Family } from './base';

type Json = Record<string, unknown>;

/** Binds a family to a parsed config.json; `file` is named in errors. */
export type FamilyFactory = (json: unknown, file: string) => Family;

/** A special token that a family's prompts need. */
export interface SpecialToken {
  content: string;
  /** fields of config.json, at the top level or in `text_config`, that may contain its id */
  keys?: readonly string[];
  /** its id in the published models of the family, used if the configuration has none */
  usual?: number;
}

/** Prompt and image conventions of a family, for models without the files that define them. */
export interface Conventions {
  /** in addition to {@link Family.imageMarks} */
  specials: readonly SpecialToken[];
  /** special tokens by their role */
  endOfTurn: string;
  pad: string;
  /** the chat template's text for an image */
  image: string;
  /** preprocessor_config.json */
  images(config: Json): Json;
}

/** Everything that the rest of the lib needs to know about a family. Each family folder exports one. */
export interface FamilyDefinition {
  /** by the `model_type` of config.json */
  modelTypes: Readonly<Record<string, FamilyFactory>>;
  /** image processors; the first one reads folders that name none */
  imageProcessors: readonly [ImageProcessorKind, ...ImageProcessorKind[]];
  conventions: Conventions;
  /** config.json of published models, by hub id */
  published: Readonly<Record<string, Json>>;
}
