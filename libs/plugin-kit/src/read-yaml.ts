import { LineCounter, parseDocument } from 'yaml';

/** The value of a text in YAML, or in JSON, which is YAML, too. Throws an error that says what is wrong in which line. */
export function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  // Errors that show their line would take minutes where there are thousands of them.
  const document = parseDocument(text, { prettyErrors: false, lineCounter });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`${error.message} (line ${line}, column ${col})`, { cause: error });
  }
  return document.toJS() as unknown;
}
