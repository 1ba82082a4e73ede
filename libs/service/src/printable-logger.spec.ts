import { LogLine, MAX_LOG_ENTRY, MAX_LOG_TAIL } from '@ui-rl/contracts';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { logTail } from './log-tail';
import { PrintableLogger } from './printable-logger';

/** The logger's output on both streams. */
function written(log: (logger: PrintableLogger) => void): string {
  const parts: string[] = [];
  const take = (part: unknown): boolean => parts.push(String(part)) > 0;
  const spies = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation(take as never),
  );
  log(new PrintableLogger({ colors: false }));
  for (const spy of spies) spy.mockRestore();
  return parts.join('');
}

const FORGED = 'not JSON: \u001b[2J"x"\u009b1m\u202e\r\n[Nest] 1  - LOG [learner] all is well';

it.each(['log', 'error', 'warn', 'fatal', 'debug', 'verbose'] as const)(
  'writes what others sent as one entry that no terminal obeys, as %s',
  (level) => {
    const text = written((logger) => logger[level](FORGED, 'bus:learner'));
    expect(text).not.toMatch(/(?![\n])[\p{Cc}\p{Cf}]/u);
    expect(text).toContain('not JSON: \\u001b[2J"x"\\u009b1m\\u202e\\r');
    expect(text.split('\n').filter((line) => line.startsWith('[Nest]'))).toHaveLength(1);
    expect(text).toContain('\n    [Nest] 1  - LOG [learner] all is well');
  },
);

it('writes the stack of an error so, too', () => {
  const { stack } = new Error(FORGED);
  const text = written((logger) => logger.error('it failed', stack, 'bus:learner'));
  expect(text).not.toMatch(/(?![\n])[\p{Cc}\p{Cf}]/u);
  expect(text.split('\n').filter((line) => line.startsWith('[Nest]'))).toHaveLength(1);
  expect(text).toMatch(/\n {4}at .*printable-logger\.spec/);
});

it('keeps the latest entries, in bounds and without control characters, for the health page', () => {
  written((logger) => {
    logger.warn(FORGED, 'bus:learner');
    for (let index = 0; index < MAX_LOG_TAIL; index += 1)
      logger.log(`${index} ${'x'.repeat(5_000)}`, 'later');
    logger.debug('unseen');
  });
  written(() => new PrintableLogger({ logLevels: ['error'] }).log('not enabled'));
  const lines = logTail.read();
  expect(lines).toHaveLength(MAX_LOG_TAIL);
  expect(lines.at(-1)).toMatchObject({ level: 'debug', message: 'unseen' });
  expect(lines[0]).toMatchObject({ level: 'log', context: 'later' });
  expect(lines[0].message).toHaveLength(MAX_LOG_ENTRY);
  expect(JSON.stringify(lines)).not.toMatch(/not enabled|\\u001b/);
  expect(plainToInstance(LogLine, lines).flatMap((line) => validateSync(line))).toEqual([]);
});

it('prints its configured levels only, and messages of plain lines', () => {
  const logger = new PrintableLogger({ colors: false, logLevels: ['error'] });
  expect(logger.isLevelEnabled('log')).toBe(false);
  expect(written((quiet) => quiet.log('first\n  second'))).toMatch(/first\n {6}second\n$/);
});
