import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PackageRegistry } from '@ui-rl/testkit';
import { COMPONENT_KINDS } from './component-kind';

const ROOT = resolve(__dirname, '../../..');
const MODULES = join(ROOT, 'node_modules');
/** Kept out of the modules below, which the import check would otherwise read as imports of this file. */
const KIT = '@ui-rl/plugin-kit';

const JAVASCRIPT = `
const { Above, Doc } = require('${KIT}');

class Options {
  bonus = 2;
}
Doc('what success pays')(Options.prototype, 'bonus');
Above(0)(Options.prototype, 'bonus');

exports.default = {
  kind: 'reward',
  name: 'outside',
  description: 'Pays its configured amount.',
  options: Options,
  create: ({ bonus }) => ({ score: ({ success }) => (success ? bonus : 0) }),
};
`;

/** A plugin as a package that uses the host's copy of the kit. */
const REWARD_PACKAGE = {
  name: 'outside-reward',
  version: '1.0.0',
  main: 'index.js',
  peerDependencies: { [KIT]: '*' },
};

const TYPESCRIPT = `
import { Max } from 'class-validator';
import { Above, Doc, type PolicyLossComponent } from '${KIT}';

class Options {
  @Doc('how much entropy counts')
  @Above(0)
  @Max(1)
  share = 0.01;
}

const loss: PolicyLossComponent<Options> = {
  kind: 'policy-loss',
  name: 'entropic',
  description: 'Keeps the policy curious.',
  options: Options,
  inputs: ['advantages'],
  scope: 'token',
  create: ({ share }) => ({
    build({ ops, logprobs, inputs, entropy }) {
      const gain = ops.add(ops.mul(logprobs, inputs.advantages), ops.mul(entropy(), share));
      return { loss: ops.neg(gain) };
    },
  }),
};

export default loss;
`;

describe('the packed plugin-kit', () => {
  let folder: string;

  const run = (...command: string[]) =>
    spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8', timeout: 120_000 });
  const cli = (...args: string[]) => run(join(ROOT, 'services/cli/bin/ui-rl.mjs'), ...args);
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);

  /** `npm install` with a separate cache, limited to packages that are installed here. */
  async function install(...packages: string[]): Promise<void> {
    const registry = await PackageRegistry.start();
    const args = ['install', '--registry', registry.url, '--cache', join(folder, 'cache'), '--no-audit'];
    try {
      await promisify(execFile)('npm', [...args, ...packages], { cwd: folder });
    } finally {
      await registry.stop();
    }
  }

  beforeAll(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'outside-')));
    const packed = run(join(ROOT, 'deploy/local/pack-lib.mjs'), 'plugin-kit', '--out', folder);
    expect(packed.stderr).toBe('');
    mkdirSync(join(folder, 'reward'));
    write('reward/package.json', JSON.stringify(REWARD_PACKAGE));
    write('reward/index.js', JAVASCRIPT);
    write('loss.ts', TYPESCRIPT);
    await install(packed.stdout.trim(), './reward', '@types/node');
  }, 180_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  it('is installed by npm with what it needs, and without what it does not', () => {
    const manifest = (name: string) =>
      JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')) as {
        name: string;
        dependencies: Record<string, string>;
      };
    const { name, dependencies } = manifest(KIT);
    expect(name).toBe(KIT);
    for (const each of Object.keys(dependencies)) expect(manifest(each).name).toBe(each);
    for (const each of ['onnxruntime-node', '@nestjs/common', 'playwright']) {
      expect(existsSync(join(folder, 'node_modules', each))).toBe(false);
    }
    const program = `const kit = require('${KIT}'); console.log(typeof kit.Doc, kit.COMPONENT_KINDS.length)`;
    expect(run('-e', program)).toMatchObject({ stdout: 'function 14\n', stderr: '' });
  });

  it('is understood by a strict TypeScript project, and its plugins by the host, with their options', () => {
    const flags = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--experimentalDecorators'];
    const compiled = run(join(MODULES, 'typescript/bin/tsc'), ...flags, '--types', 'node', 'loss.ts');
    expect(compiled.stdout).toBe('');
    const listed = cli('plugins', '--json', '--plugins', 'outside-reward,./loss.js');
    expect(listed.stderr).toBe('');
    const components = JSON.parse(listed.stdout) as { name: string }[];
    expect(components.find(({ name }) => name === 'outside')).toMatchObject({
      kind: 'reward',
      description: 'Pays its configured amount.',
      file: join(folder, 'reward/index.js'),
      options: [{ name: 'bonus', doc: 'what success pays', expected: 'a number above 0', default: 2 }],
    });
    expect(components.find(({ name }) => name === 'entropic')).toMatchObject({
      kind: 'policy-loss',
      options: [{ name: 'share', expected: 'a number above 0 and at most 1', default: 0.01 }],
    });
    expect(cli('plugins', '--plugins', './loss.js', '--kind', 'policy-loss').stdout).toMatch(
      /entropic\n +Keeps the policy curious\.\n[^]*share: how much entropy counts\n +a number above 0/,
    );
    expect(cli('train', '--help', '--plugins', './loss.js').stdout).toMatch(
      /--algorithm\.loss\.share\n +how much entropy counts/,
    );
  }, 180_000);

  it('has the types of every kind: what is written to begin with is compiled strictly, and its tests pass', () => {
    const kinds = COMPONENT_KINDS.filter((kind) => kind !== 'engine');
    const wanted = kinds.flatMap((kind) => [
      ['plugins', 'new', kind, `ts-${kind}`, '--dir', `kit/ts/${kind}`, '--typescript'],
      ['plugins', 'new', kind, `js-${kind}`, '--dir', `kit/js/${kind}`],
    ]);
    // In one process, because each start of the command line takes a second.
    write(
      'begin.cjs',
      `const { programWith } = require(${JSON.stringify(join(ROOT, 'dist/services/cli/src/program.js'))});
      (async () => {
        for (const words of ${JSON.stringify(wanted)}) {
          await programWith('plugins').parseAsync(words, { from: 'user' });
        }
      })();`,
    );
    expect(run('begin.cjs')).toMatchObject({ status: 0, stderr: '' });
    // Type-checks all plugins at once with the options of their tsconfig.json; JavaScript plugins are checked, too.
    const { compilerOptions } = JSON.parse(
      readFileSync(join(folder, 'kit/ts/reward/tsconfig.json'), 'utf8'),
    ) as {
      compilerOptions: object;
    };
    write(
      'kit/tsconfig.json',
      JSON.stringify({
        compilerOptions: { ...compilerOptions, rootDir: '.', outDir: 'built', allowJs: true, checkJs: true },
        include: ['ts/*/src/*.ts', 'js/*/src/index.js'],
      }),
    );
    const compiled = run(join(MODULES, 'typescript/bin/tsc'), '-p', 'kit');
    expect(compiled.stdout).toBe('');
    cpSync(join(folder, 'kit/ts/task-source/page'), join(folder, 'kit/built/ts/task-source/page'), {
      recursive: true,
    });
    write(
      'kit/all.test.js',
      kinds.map((kind) => `require('./built/ts/${kind}/src/index.test.js');`).join('\n'),
    );
    const tested = run('--test', 'kit/all.test.js');
    expect({ status: tested.status, said: tested.status === 0 ? '' : tested.stdout }).toEqual({
      status: 0,
      said: '',
    });
    const listed = cli('plugins', '--json', ...kinds.map((kind) => `./kit/built/ts/${kind}/src/index.js`));
    expect(listed.stderr).toBe('');
    const names = (JSON.parse(listed.stdout) as { name: string }[]).map(({ name }) => name);
    for (const kind of kinds) expect(names).toContain(`ts-${kind}`);
  }, 180_000);

  it('compiles and tests one in TypeScript by its own scripts', () => {
    const dir = join(folder, 'kit/ts/optimizer');
    const env = { ...process.env, PATH: `${join(MODULES, '.bin')}${delimiter}${process.env.PATH}` };
    const { status, stdout } = spawnSync('npm', ['test'], { cwd: dir, env, encoding: 'utf8' });
    expect({ status, stdout: status === 0 ? '' : stdout }).toEqual({ status: 0, stdout: '' });
    const [listed] = (
      JSON.parse(cli('plugins', '--json', '--kind', 'optimizer', './kit/ts/optimizer').stdout) as {
        file: string;
      }[]
    ).slice(-1);
    expect(listed.file).toBe(join(dir, 'dist/index.js'));
  }, 120_000);

  it('has its options checked when a run file chooses it', () => {
    const common =
      'model: {name: x}\ntasks: demo_training\ntraining: {max_steps: 1}\nplugins: [outside-reward]\n';
    write('run.yaml', `${common}rewards: [{name: outside, bonus: 0}]\n`);
    const wrong = cli('train', '--config', 'run.yaml');
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain(
      'run.yaml: rewards[0].bonus is 0, expected a number above 0 (what success pays)',
    );
    write('run.yaml', `${common}rewards: [outsid]\n`);
    expect(cli('train', '--config', 'run.yaml').stderr).toMatch(
      /no reward is named "outsid" \(known: .*outside, .*task-success\)\. Did you mean outside\?/,
    );
  }, 60_000);
});
