import '@ui-rl/code-cache';
import 'reflect-metadata';
import { inspect } from 'node:util';
import { ConsoleLogger, Logger, type LogLevel } from '@nestjs/common';
import { printableLines } from '@ui-rl/contracts';
import { programWith, withOwnFlags } from './program';

const WORDS: Partial<Record<LogLevel, string>> = { warn: 'warning  ', error: 'error  ', fatal: 'error  ' };

/** Lines as a command prints them, for a person; standard output belongs to results. */
class PlainLogs extends ConsoleLogger {
  protected override printMessages(messages: unknown[], _context?: string, level: LogLevel = 'log'): void {
    for (const message of messages) {
      const text = typeof message === 'string' ? message : inspect(message);
      process.stderr.write(`${WORDS[level] ?? ''}${printableLines(text)}\n`);
    }
  }
}

Logger.overrideLogger(new PlainLogs());

/** What is printed has descriptions of tasks, titles of pages and answers of models in it: no terminal is to obey those. */
for (const stream of ['log', 'error'] as const) {
  const print = console[stream].bind(console);
  console[stream] = (...values: unknown[]) =>
    print(...values.map((value) => (typeof value === 'string' ? printableLines(value) : value)));
}

/** What writing fails with where the reader is gone: of a pipe, as with `| head`, or of a terminal that was closed. */
const UNHEARD = ['EPIPE', 'EIO', 'ENXIO'];

/** Ends the work in order, as a signal does, where nobody reads what is printed. */
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
