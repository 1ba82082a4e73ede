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

programWith(process.argv[2])
  .parseAsync()
  .catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  });
