import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { JudgedEpisode, RewardContext } from './kinds';
import { loadComponents } from './load';

const context: RewardContext = {
  log: () => {},
  environment: {},
  reward: async () => {
    throw new Error('there is no other reward');
  },
};
const REWARD = `{ kind: 'reward', name: 'short', create: () => ({ score: ({ turns }) => 1 / turns.length }) }`;
const LOSS = `{ kind: 'policy-loss', name: 'mine', inputs: ['advantages'], scope: 'token',
  options: { clip_high: { type: 'number', description: 'upper bound of the ratio', default: 0.28, above: 0 } },
  create: (options) => ({ options, build: () => {} }) }`;
const source = (extra = '', name = 'toys') =>
  `{ kind: 'task-source', name: '${name}', create: () => ({ load: () => [] }), ${extra} }`;
const component = (extra: string) => `exports.default = { kind: 'reward', name: 'x', create() {}, ${extra} }`;
const options = (text: string) => component(`options: { clip: ${text} }`);

const episode = { turns: [{}, {}] } as unknown as JudgedEpisode;
const deadline = { deadlineAt: Date.now() + 1000, signal: new AbortController().signal };

describe('loadComponents', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'components-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(path: string, text: string): string {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
    return join(folder, path);
  }

  function load(...packages: string[]) {
    return loadComponents({ builtin: null, from: folder, packages });
  }

  it('loads a reward from one small file outside of the project', async () => {
    const file = write('short.js', `exports.default = ${REWARD};`);
    const registry = await load('./short.js');
    const short = await registry.create('reward', { name: 'short' }, context);
    expect(short.score(episode, deadline)).toBe(0.5);
    expect(registry.files).toEqual([file]);
  });

  it('loads folders, absolute paths, npm packages, and several components of one module', async () => {
    write('folder/package.json', '{"main":"lib.js"}');
    write('folder/lib.js', `module.exports = { components: [${REWARD}, ${LOSS}] };`);
    write('node_modules/uirl-toys/package.json', '{"main":"main.js"}');
    write('node_modules/uirl-toys/main.js', `exports.plugins = [${source()}];`);
    const single = write('single.js', `exports.default = [${source('', 'more')}];`);
    const registry = await load('./folder', 'uirl-toys', single);
    expect(registry.all().map((each) => `${each.component.kind}/${each.component.name}`)).toEqual([
      'reward/short',
      'policy-loss/mine',
      'task-source/toys',
      'task-source/more',
    ]);
    expect(registry.all('task-source').map(({ file }) => file)).toContain(single);
    expect(registry.get('task-source', 'more').kind).toBe('task-source');
    expect(registry.names('policy-loss')).toEqual(['mine']);
  });

  it('counts a module that is named twice once', async () => {
    write('short.js', `exports.default = ${REWARD};`);
    expect((await load('./short.js', './short')).all('reward')).toHaveLength(1);
  });

  it('completes and checks the options of a component in plain JavaScript', async () => {
    write('loss.js', `exports.default = ${LOSS}`);
    const registry = await load('./loss.js');
    const create = (given: object) => registry.create('policy-loss', { name: 'mine', ...given }, {});
    expect(create({})).toMatchObject({ options: { clip_high: 0.28 } });
    expect(create({ clip_high: 0.3 })).toMatchObject({ options: { clip_high: 0.3 } });
    expect(() => create({ clip_high: 0, clip_hgih: 1 })).toThrow(
      expect.objectContaining({
        category: 'option',
        message:
          'policy-loss mine: unknown option "clip_hgih". Did you mean clip_high?\n' +
          'policy-loss mine: clip_high is 0, expected a number above 0 (upper bound of the ratio)',
      }),
    );
  });

  it('collects pages, and asks sources for sentences in the order that is asked for', async () => {
    write('page/index.html', '<p>');
    const page = `pages: { phone: ${JSON.stringify(join(folder, 'page'))} }`;
    const resolving = (name: string) =>
      source(`resolve: (text) => text === 'go' ? { id: '${name}', description: 'go' } : null`, name);
    write('a.js', `exports.default = [${source(page)}, ${resolving('one')}, ${resolving('two')}]`);
    const registry = await load('./a.js');
    expect(registry.pages).toEqual({ phone: join(folder, 'page') });
    expect(registry.resolveTask('go')?.id).toBe('one');
    expect(registry.resolveTask('go', ['toys', 'two'])?.id).toBe('two');
    expect(registry.resolveTask('stay')).toBeNull();
  });

  it('takes any folder for a page, and refuses a file', async () => {
    const brings = (place: string) => source(`pages: { p: ${JSON.stringify(join(folder, place))} }`);
    write('pages/one.html', '<p>');
    write('a.js', `exports.default = ${brings('pages')}`);
    write('b.js', `exports.default = ${brings('pages/one.html')}`);
    expect((await load('./a.js')).pages).toEqual({ p: join(folder, 'pages') });
    await expect(load('./b.js')).rejects.toThrow('one.html, where there is no folder');
  });

  it('tells pages whose files a machine names, and what is missing where it does not', async () => {
    write('page/index.html', '<p>');
    write('helper.js', '');
    const text = `environment: { PLACE: 'where it is' }, pages: { there: { variable: 'PLACE', folder: 'page' } },
      scripts: { helper: ${JSON.stringify(join(folder, 'helper.js'))} }`;
    write('a.js', `exports.default = ${source(text)}`);
    const registry = await load('./a.js');
    expect(registry.pageVariables).toEqual(['PLACE']);
    expect(registry.scripts).toEqual({ helper: join(folder, 'helper.js') });
    expect(registry.pages).toEqual({});
    expect(registry.pagesWith({ PLACE: folder })).toEqual({
      pages: { there: join(folder, 'page') },
      absentPages: {},
    });
    expect(registry.pagesWith({ OTHER: folder })).toEqual({
      pages: {},
      absentPages: { there: 'PLACE is not set' },
    });
    expect(registry.pagesWith({ PLACE: '/none' }).absentPages).toEqual({
      there: 'PLACE: there is no /none/page',
    });
  });

  it('tells pages that were fetched where no variable names others, and how they are fetched', async () => {
    write('cache/there-1.0/page/index.html', '<p>');
    const text = `environment: { PLACE: 'where it is' },
      pages: { there: { variable: 'PLACE', folder: 'page', fetched: { into: 'there-1.0', by: 'bring there' } } }`;
    write('a.js', `exports.default = ${source(text)}`);
    const registry = await load('./a.js');
    const caches = ['/none', join(folder, 'cache')];
    expect(registry.pagesWith({}, caches)).toEqual({
      pages: { there: join(folder, 'cache/there-1.0/page') },
      absentPages: {},
    });
    const absent = 'PLACE is not set. "bring there" fetches them';
    expect(registry.pagesWith({}, ['/none']).absentPages).toEqual({ there: absent });
    expect(registry.pagesWith({}).absentPages).toEqual({ there: absent });
    // An invalid variable is reported; the downloaded files do not replace it.
    expect(registry.pagesWith({ PLACE: '/none' }, caches).absentPages).toEqual({
      there: 'PLACE: there is no /none/page',
    });
  });

  it('brings its own components and those of libs and plugins of the project', async () => {
    const registry = await loadComponents();
    expect(registry.names('verifier')).toContain('checks');
    expect(registry.names('action-dialect')).toContain('json');
    expect(registry.names('task-source')).toEqual(
      expect.arrayContaining(['demo_training', 'demo_eval', 'ids', 'custom']),
    );
    expect(registry.names('environment')).toContain('browser');
    expect(registry.names('reward')).toContain('task-success');
    expect(registry.files).toEqual([]);
    for (const { component } of registry.all()) expect(component.description).toMatch(/\w/);
  });

  it.each([
    ['./none.js', /plugin "\.\/none\.js": there is no module at .*none\.js: expected a \.js file/],
    ['uirl-none', /plugin "uirl-none": no package of that name is installed in .* \(npm install uirl-none\)/],
  ])('names a module that is not there: %s', async (name, message) => {
    await expect(load(name)).rejects.toMatchObject({
      category: 'not_found',
      message: expect.stringMatching(message) as string,
    });
  });

  it.each([
    ['throw new Error("boom")', /bad\.js could not be loaded: boom/],
    ['exports.default = {', /bad\.js could not be loaded: /],
    ['exports.other = 1', /bad\.js must export a component as "default", or a list of them as "components"/],
    ['exports.components = []', /bad\.js must export a component/],
    ['exports.default = 3', /bad\.js must export an object, found 3/],
    [
      'exports.default = { kind: "rewards", name: "x" }',
      /has kind "rewards", expected one of task-source, verifier, reward, .*\. Did you mean reward\?/,
    ],
    ['exports.default = { kind: "reward", name: "X y" }', /has name "X y", expected lower-case words/],
    [
      'exports.default = { kind: "reward", name: "x" }',
      /\(reward "x"\) needs a function "create", found nothing/,
    ],
    [
      'exports.components = [{ kind: "reward", name: "x", create() {} }, 3]',
      /\(component 1\) must export an object/,
    ],
    [
      'exports.default = { kind: "environment", name: "x", create: {} }',
      /needs a function "create", found \{\}/,
    ],
    [component('description: 3'), /needs "description", a text, found 3/],
    [`exports.default = ${source('oracle: 3')}`, /needs a function "oracle", found 3/],
    [
      `exports.default = ${source('pages: { p: "/none" }')}`,
      /has page "p" in \/none, where there is no folder/,
    ],
    [`exports.default = ${source('pages: { "a.b": "/none" }')}`, /has a page named "a\.b"/],
    [`exports.default = ${source('pages: { p: 3 }')}`, /has page "p" with 3, expected a folder/],
    [
      `exports.default = ${source('pages: { p: { variable: "PLACE" } }')}`,
      /has page "p" with .*PLACE.*, expected "variable", one of its "environment"/,
    ],
    [
      `exports.default = ${source('environment: { PLACE: "x" }, pages: { p: { variable: "PLACE", fetched: {} } }')}`,
      /has page "p" with .*, expected "fetched" with "into" and "by"/,
    ],
    [
      `exports.default = ${source('scripts: { s: "/none" }')}`,
      /has script "s" with "\/none", expected a file/,
    ],
    [`exports.default = ${source('scripts: { "a.b": __filename }')}`, /has a script named "a\.b"/],
    [
      'exports.default = { kind: "policy-loss", name: "x", create() {}, scope: "token" }',
      /needs "inputs", a list of advantages, old_logprobs, .*, found nothing/,
    ],
    [
      'exports.default = { kind: "policy-loss", name: "x", create() {}, inputs: ["advantage"], scope: "token" }',
      /needs "inputs", .* found \["advantage"\]/,
    ],
    [
      'exports.default = { kind: "policy-loss", name: "x", create() {}, inputs: [], scope: "tokens" }',
      /needs "scope", one of token, sequence, pair, found "tokens"/,
    ],
    [
      'exports.default = { kind: "advantage", name: "x", create() {}, gives: "weights" }',
      /needs "gives", one of advantages, selection, found "weights"/,
    ],
    [
      'exports.default = { kind: "advantage", name: "x", create() {}, minGroupSize: 0 }',
      /needs "minGroupSize", a whole number of at least 1, found 0/,
    ],
    [
      'exports.default = { kind: "advantage", name: "x", create() {}, learnsFromEveryGroup: "yes" }',
      /needs "learnsFromEveryGroup", true or false, found "yes"/,
    ],
    [
      'exports.default = { kind: "advantage", name: "x", create() {}, defaultLoss: 3 }',
      /needs "defaultLoss", the name of a component, found 3/,
    ],
    [component('options: 3'), /needs "options", a class or a description of its options, found 3/],
    [component('options: class { clip = 3 }'), /has an option "clip" without validators/],
    [
      component('options: class { constructor() { throw new Error("no") } }'),
      /has options that cannot be made: .*no/,
    ],
    [
      options('{ type: "text" }'),
      /\(reward "x"\) describes its option "clip" wrongly: it has no "description"/,
    ],
    [
      options('{ type: "number", description: "d", default: 0, above: 0 }'),
      /has an option "clip" whose default is 0, expected a number above 0/,
    ],
    [
      component('options: { Clip: { type: "number", description: "d" } }'),
      /has an option named "Clip", expected lower-case words joined by "_"/,
    ],
    [
      component('options: { name: { type: "text", description: "d" } }'),
      /has an option named "name", which names the component/,
    ],
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
    [REWARD, REWARD, /reward "short" comes twice, one component in .*a\.js, one in .*b\.js/],
    [source(`pages: { p: __dirname }`), source(`pages: { p: __dirname }`, 'm'), /page "p" comes twice/],
    [
      source(`scripts: { s: __filename }`),
      source(`scripts: { s: __filename }`, 'm'),
      /script "s" comes twice/,
    ],
  ])('refuses duplicates', async (a, b, message) => {
    write('index.html', '');
    write('a.js', `exports.default = ${a}`);
    write('b.js', `exports.default = ${b}`);
    await expect(load('./a.js', './b.js')).rejects.toMatchObject({
      category: 'duplicate',
      message: expect.stringMatching(message) as string,
    });
  });

  it('takes components of different kinds with the same name', async () => {
    write('a.js', `exports.components = [${REWARD}, { ...${REWARD}, kind: 'verifier' }]`);
    expect((await load('./a.js')).all()).toHaveLength(2);
  });

  it('names an unknown component together with those it knows', async () => {
    write('a.js', `exports.components = [${source()}, ${REWARD}]`);
    const registry = await load('./a.js');
    expect(() => registry.get('task-source', 'toy')).toThrow(
      'no task-source is named "toy" (known: toys). Did you mean toys?',
    );
    expect(() => registry.create('reward', { name: 'quick' }, context)).toThrow(
      expect.objectContaining({ category: 'unknown', message: 'no reward is named "quick" (known: short).' }),
    );
    expect(() => registry.get('environment', 'x')).toThrow('no environment is named "x" (none is loaded)');
  });

  it('finds the plugins of a folder, each with its src/index, and names one without', async () => {
    write('builtin/reward-short/src/index.js', `exports.default = ${REWARD};`);
    write('builtin/README.md', 'how to write one');
    const builtin = join(folder, 'builtin');
    expect((await loadComponents({ builtin })).get('reward', 'short').name).toBe('short');
    mkdirSync(join(builtin, 'reward-none'));
    await expect(loadComponents({ builtin })).rejects.toThrow(/reward-none has no src\/index/);
  });
});
