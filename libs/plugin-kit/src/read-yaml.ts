import { LineCounter, parseDocument } from 'yaml';

/** Parses YAML, which includes JSON. Throws an error with the fault and its line. */
export function readYaml(text: string): unknown {
  const lineCounter = new LineCounter();
  // Errors with code excerpts would take minutes if there are thousands of them.
  const document = parseDocument(text, { prettyErrors: false, lineCounter });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`${error.message} (line ${line}, column ${col})`, { cause: error });
  }
  return document.toJS() as unknown;
}
