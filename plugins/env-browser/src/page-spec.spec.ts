import { findBrowser } from './find-browser';
import { completeOptions } from '@ui-rl/plugin-kit';
import { BrowserOptions } from './options';
import { readPageSpec } from './page-spec';

const pages = { pocket: '/pages/pocket' };

function spec(options: Record<string, unknown>) {
  return readPageSpec({ id: 't1', description: 'x', environment: { kind: 'browser', options } }, pages);
}

describe('the options of a task', () => {
  it('have defaults', () => {
    expect(spec({ page: 'pocket' })).toEqual({
      url: 'http://pocket.uirl/',
      page: 'pocket',
      viewport: { width: 1280, height: 800 },
      origins: new Set(['http://pocket.uirl']),
      reset: {},
      input: 'mouse',
    });
  });

  it('are read', () => {
    const options = {
      url: 'https://example.com/a?b',
      viewport: { width: 160, height: 224 },
      allowed_origins: ['http://127.0.0.1:8080'],
      reset: { start: 'home' },
      input: 'touch',
    };
    expect(spec(options)).toEqual({
      url: 'https://example.com/a?b',
      page: null,
      viewport: { width: 160, height: 224 },
      origins: new Set(['https://example.com', 'http://127.0.0.1:8080']),
      reset: { start: 'home' },
      input: 'touch',
    });
  });

  it.each([
    [{}, '"page" or "url" is needed, and only one of them'],
    [{ page: 'pocket', url: 'http://a' }, '"page" or "url" is needed, and only one of them'],
    [{ page: 'packet' }, '"page" is "packet", known pages: pocket'],
    [{ page: 'constructor' }, '"page" is "constructor"'],
    [{ url: 'file:///etc/passwd' }, '"url" must be an http or https address, found "file:///etc/passwd"'],
    [{ url: 'data:text/html,x' }, '"url" must be an http or https address'],
    [{ page: 'pocket', viewprot: {} }, '"viewprot" is unknown, known: page, url, viewport'],
    [
      { page: 'pocket', viewport: { width: 160 } },
      '"viewport.height" must be a whole number from 16 to 4096, found nothing',
    ],
    [{ page: 'pocket', viewport: { width: 1.5, height: 160 } }, '"viewport.width" must be'],
    [{ page: 'pocket', viewport: [160, 224] }, '"viewport" must have "width" and "height"'],
    [{ page: 'pocket', allowed_origins: 'http://a' }, '"allowed_origins" must be a list'],
    [
      { page: 'pocket', allowed_origins: ['http://a/b'] },
      '"allowed_origins" holds "http://a/b", expected origins',
    ],
    [{ page: 'pocket', allowed_origins: ['file://'] }, '"allowed_origins" holds "file://"'],
    [{ page: 'pocket', allowed_origins: ['*'] }, '"allowed_origins" holds "*"'],
    [{ page: 'pocket', reset: 'home' }, '"reset" must be an object, found "home"'],
    [{ page: 'pocket', input: 'pen' }, '"input" must be "mouse" or "touch", found "pen"'],
  ])('%j is refused', (options, problem) => {
    expect(() => spec(options)).toThrow(`task "t1": environment option ${problem}`);
  });
});

describe('the options of the environment', () => {
  const read = (given: Record<string, unknown>) => completeOptions(BrowserOptions, given, 'here');

  it('have defaults and are read', () => {
    expect(read({})).toEqual({ options: { pages_per_browser: 8 }, problems: [] });
    const given = { executable_path: '/x', pages_per_browser: 3 };
    expect(read(given)).toEqual({ options: given, problems: [] });
    expect(read({ executable_path: null }).problems).toEqual([]);
  });

  it.each([
    [{ headless: false }, 'unknown option "headless"'],
    [{ executable_path: 3 }, 'executable_path is 3, expected a text that is not empty'],
    [
      { pages_per_browser: 0 },
      'pages_per_browser is 0, expected a whole number of at least 1 and at most 64',
    ],
  ])('%j is refused', (given, problem) => {
    expect(read(given).problems.map(({ message }) => message)).toEqual([
      expect.stringContaining(problem) as string,
    ]);
  });
});

describe('findBrowser', () => {
  it('takes the browser requested, then the one Playwright brought', () => {
    expect(findBrowser(process.execPath, __filename)).toBe(process.execPath);
    expect(findBrowser(null, __filename)).toBe(__filename);
  });

  it('says how to install one', () => {
    expect(() => findBrowser('/none/chrome', '')).toThrow(
      /no browser at \/none\/chrome .*npx playwright install --with-deps chromium/,
    );
  });
});
