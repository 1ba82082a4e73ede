import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { printableLines } from '@ui-rl/contracts';

/**
 * Logs what came from others (messages, titles of pages, answers of models) in a way that no terminal obeys. Further lines of an entry are
 * indented: none can be taken for an entry of its own.
 */
export class PrintableLogger extends ConsoleLogger {
  protected override stringifyMessage(message: unknown, level: LogLevel): string {
    return super.stringifyMessage(typeof message === 'string' ? entry(message) : message, level);
  }

  protected override printStackTrace(stack: string): void {
    super.printStackTrace(stack ? entry(stack) : stack);
  }
}

const entry = (text: string): string => printableLines(text).replace(/\n(?! {4})/g, '\n    ');
