/** A component to begin with, as text. `NAME` stands for its name. Lines and parts that only one language has are marked, see `inLanguage`. */
export interface Template {
  /** Type of the component in plugin-kit. */
  type: string;
  /** Other types of plugin-kit that TypeScript has to name in the component, and in its test. */
  types?: { component?: readonly string[]; test?: readonly string[] };
  /** Members of the interface of its options: `bonus: number;`. None: it has no options. */
  options?: string;
  /** What it does, in one sentence. */
  description: string;
  /** Modules of Node → names that the component, or its test, takes from them. */
  imports?: { component?: Readonly<Record<string, string>>; test?: Readonly<Record<string, string>> };
  /** What stands before the component. */
  before?: string;
  /** Members of the component besides kind, name and description. */
  members: string;
  /** Tests; `component` is the component, `assert` and `test` are Node's. */
  test: string;
  /** Further files, by their path. */
  files?: Readonly<Record<string, string>>;
  /** What of a run file chooses it. */
  choice: string;
}

export type Language = 'javascript' | 'typescript';

/** Stands for the name of the component. */
const NAME = /\bNAME\b/g;

/**
 * Text for one of the languages: a line that begins with `//js ` or `//ts ` is for that one, and what stands in a line between
 * `/*ts` and the end of the comment is for TypeScript.
 */
export function inLanguage(text: string, language: Language, name: string): string {
  const [own, other] = language === 'typescript' ? ['//ts ', '//js '] : ['//js ', '//ts '];
  const lines = text
    .split('\n')
    .filter((line) => !line.trimStart().startsWith(other))
    .map((line) => line.replace(own, ''));
  return lines
    .join('\n')
    .replaceAll(/\/\*ts(.*?)\*\//g, (_, typed: string) => (language === 'typescript' ? typed : ''))
    .replaceAll(NAME, name);
}
