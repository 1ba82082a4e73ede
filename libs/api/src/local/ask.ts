import { createInterface } from 'node:readline/promises';

/** Where somebody is asked. */
export interface Terminal {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** What Ctrl-C does: while a line is edited the terminal keeps it from the process. Default: SIGINT for this process. */
  interrupt?: () => void;
}

/**
 * Asks a question on a terminal; undefined where nobody is going to answer, since the input has ended (Ctrl-D). Rejects where the signal
 * aborts.
 */
export async function ask(
  question: string,
  { input, output, interrupt = () => void process.kill(process.pid, 'SIGINT') }: Terminal,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const terminal = createInterface({ input, output });
  // By itself a closed terminal leaves its question open for ever.
  const closed = new AbortController();
  for (const event of ['close', 'error']) terminal.on(event, () => closed.abort());
  terminal.on('SIGINT', interrupt);
  try {
    const ends = signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]);
    return await terminal.question(question, { signal: ends });
  } catch (error) {
    // What is printed next begins on a line of its own.
    output.write('\n');
    if (closed.signal.aborted && signal?.aborted !== true) return undefined;
    throw error;
  } finally {
    terminal.close();
  }
}
