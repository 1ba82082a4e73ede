import '@ui-rl/code-cache';
import 'reflect-metadata';
import { ConsoleLogger, Logger, type LogLevel } from '@nestjs/common';
import { programWith } from './program';

/** Standard output belongs to results. */
class LogsAside extends ConsoleLogger {
  protected override printMessages(messages: unknown[], context?: string, level?: LogLevel): void {
    super.printMessages(messages, context, level, 'stderr');
  }
}

Logger.overrideLogger(new LogsAside());

/** Whoever read what is printed is gone, as with `| head`: that ends the work in order, as a signal does. */
let isHeard = true;
const endUnheard = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error;
  if (isHeard) process.kill(process.pid, 'SIGTERM');
  isHeard = false;
};
for (const stream of [process.stdout, process.stderr]) stream.on('error', endUnheard);

programWith(process.argv[2])
  .parseAsync()
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
