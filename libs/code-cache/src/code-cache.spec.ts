import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

const RUN_TS = join(__dirname, '../../testkit/run-ts.cjs');

/** Uses what a module has from Node. */
const MAIN = `
  const { greet, folder } = require('./greet');
  const known = [folder === __dirname, require.resolve('./greet') in require.cache, this === exports];
  require('./late').then(({ late }) => console.log(greet(), late, ...known));
`;
const LATE = `module.exports = import('./module.mjs');`;
const greetWith = (word: string): string => `exports.folder = __dirname; exports.greet = () => '${word}';`;

const RECORD = `
  const { Recording } = require(${JSON.stringify(join(__dirname, 'recording.ts'))});
  const recording = Recording.start((source) => source.includes('import('));
  require('./dist/main.js');
  process.on('exit', () => recording.write(__dirname + '/dist'));
`;

/** Says besides what the program prints, of how many modules V8 took the code that was recorded. */
const START = `
  const vm = require('node:vm');
  let taken = 0;
  vm.Script = class extends vm.Script {
    constructor(source, options) {
      super(source, options);
      if (options.cachedData !== undefined && this.cachedDataRejected === false) taken += 1;
    }
  };
  const { useCodeCache } = require(${JSON.stringify(join(__dirname, 'use.ts'))});
  useCodeCache(__dirname + '/dist');
  require('./dist/main.js');
  process.on('exit', () => console.log(taken, 'recorded'));
`;

describe('a cache of compiled modules', () => {
  let root: string;

  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const run = (program: string): string =>
    execFileSync(process.execPath, [RUN_TS, join(root, program)], { encoding: 'utf8' }).trim();

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'uirl-code-'));
    const files = { 'main.js': MAIN, 'greet.js': greetWith('hello'), 'late.js': LATE };
    for (const [name, text] of Object.entries(files)) put(`dist/${name}`, text);
    put('dist/module.mjs', `export const late = 'late';`);
    put('record.cjs', RECORD);
    put('start.cjs', START);
  });

  afterEach(() => rmSync(root, { recursive: true }));

  it('gives modules all that Node gives them, and leaves it those with an import()', () => {
    const said = 'hello late true true true';
    expect(run('start.cjs')).toBe(`${said}\n0 recorded`);
    expect(run('record.cjs')).toBe(said);
    expect(run('start.cjs')).toBe(`${said}\n2 recorded`);
  });

  it('does not count for a module whose text has changed, though it is as long as it was', () => {
    run('record.cjs');
    put('dist/greet.js', greetWith('salut'));
    expect(run('start.cjs')).toBe('salut late true true true\n1 recorded');
  });

  it('forgets where a module was that has moved', () => {
    run('record.cjs');
    rmSync(join(root, 'dist/greet.js'));
    put('dist/greet/index.js', greetWith('moved'));
    expect(run('start.cjs')).toBe('moved late false true true\n1 recorded');
  });

  it.each([
    ['nothing', 0, (file: string) => truncateSync(file)],
    ['half of the code', 1, (file: string) => truncateSync(file, statSync(file).size - 500)],
    ['other bytes', 0, (file: string) => writeFileSync(file, 'not a cache at all')],
  ])('does without what is not there, where the file holds %s', (_what, taken, damage) => {
    run('record.cjs');
    damage(join(root, 'dist/code-cache.bin'));
    expect(run('start.cjs')).toBe(`hello late true true true\n${taken} recorded`);
  });
});
