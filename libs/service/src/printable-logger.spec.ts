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

it('prints its configured levels only, and messages of plain lines', () => {
  const logger = new PrintableLogger({ colors: false, logLevels: ['error'] });
  expect(logger.isLevelEnabled('log')).toBe(false);
  expect(written((quiet) => quiet.log('first\n  second'))).toMatch(/first\n {6}second\n$/);
});
