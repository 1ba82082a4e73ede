import '@ui-rl/code-cache';
import 'reflect-metadata';
import { inspect } from 'node:util';
import { ConsoleLogger, Logger, type LogLevel } from '@nestjs/common';
import { printableLines } from '@ui-rl/contracts';
import { programWith, withOwnFlags } from './program';

const WORDS: Partial<Record<LogLevel, string>> = { warn: 'warning  ', error: 'error  ', fatal: 'error  ' };

/** Prints log lines for users; standard output is reserved for results. */
class PlainLogs extends ConsoleLogger {
  protected override printMessages(messages: unknown[], _context?: string, level: LogLevel = 'log'): void {
    for (const message of messages) {
      const text = typeof message === 'string' ? message : inspect(message);
      process.stderr.write(`${WORDS[level] ?? ''}${printableLines(text)}\n`);
    }
  }
}

Logger.overrideLogger(new PlainLogs());

/**
 * The output contains descriptions of tasks, titles of pages and answers of models, which must not control the
 * terminal.
 */
for (const stream of ['log', 'error'] as const) {
  const print = console[stream].bind(console);
  console[stream] = (...values: unknown[]) =>
    print(...values.map((value) => (typeof value === 'string' ? printableLines(value) : value)));
}

/** Errors of writing after the reader has gone: of a pipe, as with `| head`, or of a closed terminal. */
const UNHEARD = ['EPIPE', 'EIO', 'ENXIO'];

/** Stops gracefully, as on a signal, when the output has no reader. */
let isHeard = true;
const endUnheard = (error: NodeJS.ErrnoException): void => {
  if (!UNHEARD.includes(error.code ?? '')) throw error;
  if (isHeard) process.kill(process.pid, 'SIGTERM');
  isHeard = false;
};
for (const stream of [process.stdout, process.stderr]) stream.on('error', endUnheard);

const program = programWith(process.argv[2]);
program.parseAsync().catch((error: unknown) => {
  console.error(withOwnFlags(error instanceof Error ? error.message : String(error), program));
  process.exit(1);
});
