/** A page of the reference: path within docs/reference → text. */
export interface Page {
  file: string;
  text: string;
}

/** A page with its title, an introduction, and its source. */
export function page(file: string, title: string, source: string, parts: readonly string[]): Page {
  const head = [`# ${title}`, `Written by \`npm run docs\` from ${source}. Do not edit.`];
  return { file, text: `${[...head, ...parts].join('\n\n')}\n` };
}

/** A table; line breaks in cells are removed, and bars are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

function cell(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').replaceAll(/(?<!\\)\|/g, '\\|');
}

export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}
