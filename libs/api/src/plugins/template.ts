/**
 * A starting point for a component, as text. `NAME` stands for the component's name. Markers separate the parts of
 * the two languages, see `inLanguage`.
 */
export interface Template {
  /** Type of the component in plugin-kit. */
  type: string;
  /** Other types of plugin-kit that the TypeScript component and its test use. */
  types?: { component?: readonly string[]; test?: readonly string[] };
  /** Members of its options interface, such as `bonus: number;`. Default: no options. */
  options?: string;
  /** Its description, in one sentence. */
  description: string;
  /** Node modules → names that the component or its test imports. */
  imports?: { component?: Readonly<Record<string, string>>; test?: Readonly<Record<string, string>> };
  /** Text before the component. */
  before?: string;
  /** Members of the component besides kind, name and description. */
  members: string;
  /** Tests; `component` is the component, `assert` and `test` are Node's. */
  test: string;
  /** Additional files, by path. */
  files?: Readonly<Record<string, string>>;
  /** The part of a run file that selects the component. */
  choice: string;
}

export type Language = 'javascript' | 'typescript';

/** Placeholder for the component's name. */
const NAME = /\bNAME\b/g;

/**
 * Keeps the text for one language: a line that begins with `//js ` or `//ts ` is for that language, and text between
 * `/*ts` and the end of
 * the comment is for TypeScript.
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
