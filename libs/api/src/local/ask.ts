import { createInterface } from 'node:readline/promises';

/** The terminal on which questions are asked. */
export interface Terminal {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /**
   * Called on Ctrl-C, which the terminal withholds from the process during line editing. Default: sends SIGINT to
   * this process.
   */
  interrupt?: () => void;
}

/**
 * Asks a question on a terminal. Resolves to undefined when the input has ended (Ctrl-D); rejects when the signal
 * aborts.
 */
export async function ask(
  question: string,
  { input, output, interrupt = () => void process.kill(process.pid, 'SIGINT') }: Terminal,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const terminal = createInterface({ input, output });
  // readline leaves the question of a closed terminal pending forever.
  const closed = new AbortController();
  for (const event of ['close', 'error']) terminal.on(event, () => closed.abort());
  terminal.on('SIGINT', interrupt);
  try {
    const ends = signal === undefined ? closed.signal : AbortSignal.any([signal, closed.signal]);
    return await terminal.question(question, { signal: ends });
  } catch (error) {
    // Later output starts on a new line.
    output.write('\n');
    if (closed.signal.aborted && signal?.aborted !== true) return undefined;
    throw error;
  } finally {
    terminal.close();
  }
}
