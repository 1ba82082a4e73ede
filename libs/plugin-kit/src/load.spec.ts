import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { loadPlugins } from './load';

const REWARD = `{ kind: 'reward', name: 'short', score: ({ success, turns }) => (success ? 1 : 0) - 0.01 * turns }`;
const ENVIRONMENT = `{ kind: 'environment', name: 'toy', create: async () => ({}) }`;
const source = (extra = '', type = 'toys', name = 'toys') =>
  `{ kind: 'task-source', name: '${name}', sourceTypes: ['${type}'], load: async () => [], ${extra} }`;

describe('loadPlugins', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plugins-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(path: string, text: string): string {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    return join(folder, path);
  }

  function load(...packages: string[]) {
    return loadPlugins({ builtin: null, from: folder, packages });
  }

  it('loads a reward from one small file outside of the project', async () => {
    write('short.js', `exports.default = ${REWARD};`);
    const registry = await load('./short.js');
    const score = registry.reward('short').score({
      task: { description: 'x' },
      success: true,
      status: 'completed',
      turns: 5,
      finalState: null,
    });
    expect(score).toBeCloseTo(0.95);
  });

  it('loads folders, absolute paths, npm packages, and several plugins of one module', async () => {
    write('folder/package.json', '{"main":"lib.js"}');
    write('folder/lib.js', `module.exports = { plugins: [${REWARD}, ${ENVIRONMENT}] };`);
    write('node_modules/uirl-toys/package.json', '{"main":"main.js"}');
    write('node_modules/uirl-toys/main.js', `exports.default = [${source()}];`);
    const single = write('single.js', `exports.default = ${source('', 'more', 'more')};`);
    const registry = await load('./folder', 'uirl-toys', single);
    expect(registry.loaded.map(({ plugin }) => `${plugin.kind}/${plugin.name}`)).toEqual([
      'reward/short',
      'environment/toy',
      'task-source/toys',
      'task-source/more',
    ]);
    expect(registry.loaded.at(-1)?.file).toBe(single);
    expect(registry.taskSource('more').name).toBe('more');
    expect(registry.environment('toy').kind).toBe('environment');
  });

  it('counts a plugin that is named twice once', async () => {
    write('short.js', `exports.default = ${REWARD};`);
    expect((await load('./short.js', './short')).rewards).toHaveLength(1);
  });

  it('collects the pages of all sources', async () => {
    write('page/index.html', '<p>');
    write(
      'a.js',
      `exports.default = ${source(`pages: { phone: ${JSON.stringify(join(folder, 'page'))} }`)};`,
    );
    expect((await load('./a.js')).pages).toEqual({ phone: join(folder, 'page') });
  });

  it.each([
    ['./none.js', /plugin "\.\/none\.js": there is no module at .*none\.js: expected a \.js file/],
    ['uirl-none', /plugin "uirl-none": no package of that name is installed in .* \(npm install uirl-none\)/],
  ])('names a plugin that is not there: %s', async (name, message) => {
    await expect(load(name)).rejects.toMatchObject({
      category: 'not_found',
      message: expect.stringMatching(message) as string,
    });
  });

  it.each([
    ['throw new Error("boom")', /bad\.js could not be loaded: boom/],
    ['exports.default = {', /bad\.js could not be loaded: /],
    ['exports.other = 1', /bad\.js must export a plugin as "default", or a list of them as "plugins"/],
    ['exports.plugins = []', /bad\.js must export a plugin/],
    ['exports.default = 3', /bad\.js must export an object, found 3/],
    [
      'exports.default = { kind: "rewards", name: "x" }',
      /has kind "rewards", expected one of task-source, reward, env/,
    ],
    ['exports.default = { kind: "reward", name: "X y" }', /has name "X y", expected lower-case words/],
    [
      'exports.default = { kind: "reward", name: "x" }',
      /\(reward "x"\) needs a function "score", found nothing/,
    ],
    [
      'exports.plugins = [{ kind: "reward", name: "x", score() {} }, 3]',
      /\(plugin 1\) must export an object/,
    ],
    [
      'exports.default = { kind: "environment", name: "x", create: {} }',
      /needs a function "create", found \{\}/,
    ],
    [`exports.default = ${source('oracle: 3')}`, /needs a function "oracle", found 3/],
    [`exports.default = ${source('sourceTypes: []')}`, /needs "sourceTypes", a list of names, found \[\]/],
    [
      `exports.default = ${source('pages: { p: "/none" }')}`,
      /has page "p" in \/none, but there is no index\.html/,
    ],
    [`exports.default = ${source('pages: { "a.b": "/none" }')}`, /has a page named "a\.b"/],
  ])('says what is wrong with %s', async (text, message) => {
    write('bad.js', text);
    const loading = load('./bad.js');
    await expect(loading).rejects.toMatchObject({
      category: 'invalid',
      message: expect.stringMatching(message) as string,
    });
    await expect(loading).rejects.toThrow(join(folder, 'bad.js'));
  });

  it.each([
    [REWARD, REWARD, /reward "short" comes twice, one plugin in .*a\.js, one in .*b\.js/],
    [
      source(),
      source('', 'toys', 'other'),
      /source_type "toys" comes twice, one task source in .*a\.js, one in .*b\.js/,
    ],
    [source(`pages: { p: __dirname }`), source(`pages: { p: __dirname }`, 'm', 'm'), /page "p" comes twice/],
  ])('refuses duplicates', async (a, b, message) => {
    write('index.html', '');
    write('a.js', `exports.default = ${a}`);
    write('b.js', `exports.default = ${b}`);
    await expect(load('./a.js', './b.js')).rejects.toMatchObject({
      category: 'duplicate',
      message: expect.stringMatching(message) as string,
    });
  });

  it('takes plugins of different kinds with the same name', async () => {
    write('a.js', `exports.plugins = [${REWARD}, { ...${ENVIRONMENT}, name: 'short' }]`);
    expect((await load('./a.js')).loaded).toHaveLength(2);
  });

  it('names an unknown plugin together with those it knows', async () => {
    write('a.js', `exports.plugins = [${source()}, ${REWARD}]`);
    const registry = await load('./a.js');
    expect(() => registry.taskSource('toy')).toThrow(
      'no task source answers source_type "toy" (known: toys)',
    );
    expect(() => registry.reward('shorter')).toThrow('no reward plugin is named "shorter" (known: short)');
    expect(() => registry.environment('x')).toThrow('no environment plugin is named "x" (none is loaded)');
  });

  it('finds the plugins of a folder, each with its src/index, and names one without', async () => {
    write('builtin/reward-short/src/index.js', `exports.default = ${REWARD};`);
    write('builtin/README.md', 'how to write one');
    const builtin = join(folder, 'builtin');
    expect((await loadPlugins({ builtin })).reward('short').name).toBe('short');
    mkdirSync(join(builtin, 'reward-none'));
    await expect(loadPlugins({ builtin })).rejects.toThrow(/reward-none has no src\/index/);
  });
});
