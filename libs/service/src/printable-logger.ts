import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { printableLines } from '@ui-rl/contracts';
import { logTail } from './log-tail';

type Printed = Parameters<ConsoleLogger['printMessages']>;

/**
 * Logs untrusted text (messages, titles of pages, answers of models) without terminal control sequences. Further
 * lines of an entry are indented, so that none can be mistaken for an entry. Keeps the latest entries in `logTail`.
 */
export class PrintableLogger extends ConsoleLogger {
  protected override printMessages(...[messages, context, level, ...rest]: Printed): void {
    for (const message of messages) {
      if (typeof message === 'string') logTail.add(level ?? 'log', context ?? '', printableLines(message));
    }
    super.printMessages(messages, context, level, ...rest);
  }

  protected override stringifyMessage(message: unknown, level: LogLevel): string {
    return super.stringifyMessage(typeof message === 'string' ? entry(message) : message, level);
  }

  protected override printStackTrace(stack: string): void {
    super.printStackTrace(stack ? entry(stack) : stack);
  }
}

const entry = (text: string): string => printableLines(text).replace(/\n(?! {4})/g, '\n    ');
