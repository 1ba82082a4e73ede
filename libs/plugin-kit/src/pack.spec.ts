import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '../../..');
const MODULES = join(ROOT, 'node_modules');
/** Apart from the modules below, which the check of imports would take for this file. */
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
  description: 'Pays as it is told.',
  options: Options,
  create: ({ bonus }) => ({ score: ({ success }) => (success ? bonus : 0) }),
};
`;

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

  /** As npm install does, without a registry. */
  function install(tarball: string): void {
    const home = join(folder, 'node_modules/@ui-rl/plugin-kit');
    mkdirSync(home, { recursive: true });
    expect(spawnSync('tar', ['xzf', tarball, '--strip-components=1', '-C', home]).status).toBe(0);
    const { name, dependencies } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
      name: string;
      dependencies: Record<string, string>;
    };
    expect(name).toBe(KIT);
    expect(Object.keys(dependencies)).not.toContain('onnxruntime-node');
    for (const each of [...Object.keys(dependencies), '@types/node']) {
      mkdirSync(dirname(join(folder, 'node_modules', each)), { recursive: true });
      symlinkSync(join(MODULES, each), join(folder, 'node_modules', each));
    }
  }

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'outside-'));
    const packed = run(join(ROOT, 'deploy/local/pack-plugin-kit.mjs'), '--out', folder);
    expect(packed.stderr).toBe('');
    install(packed.stdout.trim());
    write('reward.js', JAVASCRIPT);
    write('loss.ts', TYPESCRIPT);
  }, 180_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  it('is understood by a strict TypeScript project, and its plugins by the host, with their options', () => {
    const flags = ['--strict', '--target', 'es2022', '--module', 'nodenext', '--experimentalDecorators'];
    const compiled = run(join(MODULES, 'typescript/bin/tsc'), ...flags, '--types', 'node', 'loss.ts');
    expect(compiled.stdout).toBe('');
    const listed = cli('plugins', '--json', '--plugins', './reward.js,./loss.js');
    expect(listed.stderr).toBe('');
    const components = JSON.parse(listed.stdout) as { name: string }[];
    expect(components.find(({ name }) => name === 'outside')).toMatchObject({
      kind: 'reward',
      description: 'Pays as it is told.',
      file: join(folder, 'reward.js'),
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
      /--algorithm\.loss\.share, --algorithm\.share, --share\n +how much entropy counts/,
    );
  }, 180_000);

  it('has its options checked when a run file chooses it', () => {
    const common =
      'model: {name: x}\ntasks: demo_training\ntraining: {max_steps: 1}\nplugins: [./reward.js]\n';
    write('run.yaml', `${common}rewards: [{name: outside, bonus: 0}]\n`);
    const wrong = cli('train', '--config', 'run.yaml');
    expect(wrong.status).toBe(1);
    expect(wrong.stderr).toContain(
      'run.yaml: rewards[0].bonus is 0, expected a number above 0 (what success pays)',
    );
    write('run.yaml', `${common}rewards: [outsid]\n`);
    expect(cli('train', '--config', 'run.yaml').stderr).toMatch(
      /no reward is named "outsid" \(known: outside, task-success\)\. Did you mean outside\?/,
    );
  }, 60_000);
});
