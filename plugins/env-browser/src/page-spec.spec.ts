import { completeOptions } from '@ui-rl/plugin-kit';
import { BrowserOptions } from './options';
import { readPageSpec } from './page-spec';

const rules = {
  pages: { pocket: '/pages/pocket', other: '/pages/other' },
  absentPages: { away: 'PLACE is not set' },
  scripts: { helper: '/helper.js' },
  privateOrigins: new Set(['http://127.0.0.1:8080']),
};

function spec(options: Record<string, unknown>) {
  return readPageSpec({ id: 't1', description: 'x', environment: { kind: 'browser', options } }, rules);
}

describe('the options of a task', () => {
  it('have defaults', () => {
    expect(spec({ page: 'pocket' })).toEqual({
      url: 'http://pocket.uirl/',
      page: 'pocket',
      viewport: { width: 1280, height: 800 },
      origins: new Set(['http://pocket.uirl']),
      networkOrigins: [],
      script: null,
      scale: 1,
      device: null,
      reset: {},
      input: 'mouse',
      storageState: null,
      files: [],
      downloads: false,
      checks: [],
    });
  });

  it('are read', () => {
    const options = {
      url: 'https://example.com/a?b',
      viewport: { width: 160, height: 224 },
      allowed_origins: ['http://127.0.0.1:8080', 'http://other.uirl'],
      script: 'helper',
      scale: 1.5,
      reset: { start: 'home' },
      input: 'touch',
      storage_state: 'shop',
      downloads: true,
    };
    expect(spec(options)).toEqual({
      url: 'https://example.com/a?b',
      page: null,
      viewport: { width: 160, height: 224 },
      origins: new Set(['https://example.com', 'http://127.0.0.1:8080', 'http://other.uirl']),
      networkOrigins: ['https://example.com', 'http://127.0.0.1:8080'],
      script: 'helper',
      scale: 1.5,
      device: null,
      reset: { start: 'home' },
      input: 'touch',
      storageState: 'shop',
      files: [],
      downloads: true,
      checks: [],
    });
  });

  it('name a file of the page', () => {
    const read = spec({ page: 'pocket', path: 'games/chess-2.html' });
    expect(read).toMatchObject({ url: 'http://pocket.uirl/games/chess-2.html', page: 'pocket' });
  });

  it.each([
    [{ url: 'http://a', path: 'b.html' }, '"path" is a place in the folder of a "page", which is not given'],
    ...[
      '',
      '/',
      '/a.html',
      '../a.html',
      'a/../b.html',
      'a/./b',
      'a//',
      'a//b',
      '.git/config',
      'a\\b',
      'a\nb',
      '\ud800',
      3,
    ].map((path): [Record<string, unknown>, string] => [
      { page: 'pocket', path },
      '"path" must lead to a file in the folder of the page',
    ]),
    ...['../shop', 'a/b', '', '.hidden', 3, null].map((name): [Record<string, unknown>, string] => [
      { page: 'pocket', storage_state: name },
      '"storage_state" must be the name of a file in the folder of the env service',
    ]),
    [{}, '"page" or "url" is needed, and only one of them'],
    [{ page: 'pocket', url: 'http://a' }, '"page" or "url" is needed, and only one of them'],
    [{ page: 'packet' }, '"page" is "packet", known pages: other, pocket'],
    [{ page: 'away' }, '"page" is "away", whose files this machine does not name: PLACE is not set'],
    [{ page: 'pocket', script: '/etc/passwd' }, '"script" is "/etc/passwd", known scripts: helper'],
    [{ page: 'pocket', script: 'toString' }, '"script" is "toString"'],
    [{ page: 'pocket', scale: 5 }, '"scale" must be a number from 0.25 to 4, found 5'],
    [{ page: 'pocket', scale: '2' }, '"scale" must be a number'],
    [{ page: 'constructor' }, '"page" is "constructor"'],
    [{ url: 'file:///etc/passwd' }, '"url" must be an http or https address, found "file:///etc/passwd"'],
    [{ url: 'data:text/html,x' }, '"url" must be an http or https address'],
    [{ page: 'pocket', viewprot: {} }, '"viewprot" is unknown, known: page, path, url, viewport'],
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
    [
      { url: 'http://localhost/' },
      `"url" or "allowed_origins" names http://localhost, on this machine or in a private network`,
    ],
    [
      { page: 'pocket', allowed_origins: ['http://[::1]:8080'] },
      '"url" or "allowed_origins" names http://[::1]:8080',
    ],
    [
      { page: 'pocket', allowed_origins: ['http://127.0.0.1'] },
      '"url" or "allowed_origins" names http://127.0.0.1,',
    ],
    [{ page: 'pocket', reset: 'home' }, '"reset" must be an object, found "home"'],
    [{ page: 'pocket', input: 'pen' }, '"input" must be "mouse" or "touch", found "pen"'],
  ])('%j is refused', (options, problem) => {
    expect(() => spec(options)).toThrow(`task "t1": environment option ${problem}`);
  });
});

describe('the options of the environment', () => {
  const read = (given: Record<string, unknown>) => completeOptions(BrowserOptions, given, 'here');

  it('have defaults and are read', () => {
    const defaults = {
      ...{ reset: 'own', kept_pages: 0 },
      ...{ pages_per_browser: 8, sandbox: 'on', memory_mb: 4096, private_origins: [] },
      ...{ observation: 'screenshot', text_length: 8_000 },
      ...{ record_every: 0, record_mb: 32, record_total_mb: 2_048 },
    };
    expect(read({})).toEqual({ options: defaults, problems: [] });
    const given = {
      pages_per_browser: 3,
      sandbox: 'off',
      memory_mb: 512,
      private_origins: ['http://localhost:3000', 'https://intranet'],
    };
    expect(read(given)).toEqual({ options: { ...defaults, ...given }, problems: [] });
  });

  it.each([
    [{ headless: false }, 'unknown option "headless"'],
    [{ executable_path: '/bin/sh' }, 'unknown option "executable_path"'],
    [{ sandbox: 'no' }, 'sandbox is "no", expected one of on, off'],
    [{ memory_mb: 100 }, 'memory_mb is 100, expected a whole number of at least 512'],
    [{ private_origins: ['localhost:3000'] }, 'which must be an origin such as http://localhost:3000'],
    [{ private_origins: ['http://a/b'] }, 'which must be an origin such as'],
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
