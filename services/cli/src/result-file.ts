import { writeFile } from 'node:fs/promises';

/** Writes a result as JSON to a file and a summary to the terminal, or without a file the JSON to standard output. */
export async function writeResult(file: string | undefined, result: unknown, summary: string): Promise<void> {
  if (file === undefined) {
    console.log(JSON.stringify(result));
    return;
  }
  await writeFile(file, `${JSON.stringify(result)}\n`);
  console.log(`${summary}\nwritten to ${file}`);
}
