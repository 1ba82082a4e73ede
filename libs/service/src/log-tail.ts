import type { LogLevel } from '@nestjs/common';
import { type LogLine, MAX_LOG_ENTRY, MAX_LOG_TAIL } from '@ui-rl/contracts';

const MAX_CONTEXT = 200;

/** The latest entries of this process's log, oldest first. */
export class LogTail {
  private readonly lines: LogLine[] = [];

  add(level: LogLevel, context: string, message: string): void {
    this.lines.push({
      at: new Date().toISOString(),
      level,
      context: context.slice(0, MAX_CONTEXT),
      message: message.slice(0, MAX_LOG_ENTRY),
    });
    if (this.lines.length > MAX_LOG_TAIL) this.lines.shift();
  }

  read(): LogLine[] {
    return [...this.lines];
  }
}

/** The log of this process. */
export const logTail = new LogTail();
