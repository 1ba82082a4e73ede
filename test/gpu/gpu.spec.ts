import { execFileSync, fork, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Line, MeasuredVariant } from './lines';
import { FAMILIES, partsOf } from './parts';
import { root } from './places';
import { isWell, report, rounded } from './table';

const check = {
  kind: 'check',
  name: 'golden conversation a',
  variant: 'webgpu fp16',
  gap: 0.05,
  tolerance: 0.1,
  wrong: null,
} as const satisfies Line;
const figure = (variant: MeasuredVariant, value: number): Line => {
  return { kind: 'figure', model: 'small', variant, what: 'training step', unit: 'ms', value };
};

describe('the report', () => {
  it('has a row for each thing that was measured, and a column for what it was measured on', () => {
    const lines: Line[] = [
      { kind: 'fact', name: 'nvidia-smi', value: 'one card,\n580' },
      check,
      figure('webgpu fp32', 50),
      { ...figure('cpu', 3), model: '2B' } as Line,
      figure('cpu', 200),
      figure('webgpu fp16', 1234.5),
      {
        kind: 'shares',
        model: 'small',
        variant: 'cpu',
        what: 'all',
        unit: 'ms',
        shares: { images: 10, training: 400 },
      },
      { kind: 'failure', part: 'figures of 2B, cpu', reason: 'stopped after 120 s' },
    ];
    expect(report(lines)).toBe(
      [
        '- nvidia-smi: one card, 580',
        '',
        '| check | on | largest difference | allowed |  |',
        '|---|---|---|---|---|',
        '| golden conversation a | webgpu fp16 | 5.0e-2 | 1e-1 | holds |',
        '',
        '| model | what | unit | cpu | webgpu fp32 | webgpu fp16 | GPU / CPU |',
        '|---|---|---|---|---|---|---|',
        '| small | training step | ms | 200 | 50.0 | 1235 | 0.250, 6.17 |',
        '| 2B | training step | ms | 3.00 | — | — | — |',
        '',
        '| model | on | where time goes | parts | unit |',
        '|---|---|---|---|---|',
        '| small | cpu | all | training 400, images 10.0 | ms |',
        '',
        '- **not finished**: figures of 2B, cpu: stopped after 120 s',
        '',
      ].join('\n'),
    );
  });

  it('has columns for PyTorch if it was measured, without ratios', () => {
    const table = report([figure('cpu', 200), figure('torch bf16', 4)]);
    expect(table).toContain('| unit | cpu | webgpu fp32 | webgpu fp16 | torch bf16 | GPU / CPU |');
    expect(table).toContain('| ms | 200 | — | — | 4.00 | — |');
  });

  it('says of a check whether it holds, and of a run whether it is well', () => {
    const off: Line = { ...check, gap: 0.2 };
    const wrong: Line = { ...check, wrong: 'answers 1 instead of 2' };
    const unknown: Line = { ...check, gap: Number.NaN };
    expect(report([off])).toContain('| **does not hold** |');
    expect(report([wrong])).toContain('| answers 1 instead of 2 |');
    expect([[check], [off], [wrong], [unknown], []].map(isWell)).toEqual([true, false, false, false, true]);
    expect(isWell([{ kind: 'failure', part: 'a', reason: 'b' }])).toBe(false);
  });

  it('rounds to three digits', () => {
    expect([0, 0.00123456, 0.5, 12.345, 123.4, 98765.4].map(rounded)).toEqual([
      '0',
      '0.00123',
      '0.500',
      '12.3',
      '123',
      '98765',
    ]);
  });
});

interface Bundle {
  FIXTURES: string[];
  PACKAGES: string[];
  missing: Record<'none' | 'worker' | 'loader', string[]>;
  archived: string;
}

/** Imports the program with Node: what it computes for a folder, and its check of file lists. */
const PROGRAM = `
import { readFileSync } from 'node:fs';
const { buildCommand, copyData, pretraining, FIXTURES, PACKAGES, NEEDED, SYSTEM_PACKAGES, missingIn } = await import('./test/gpu/bundle.mjs');
const { arOf } = await import('./test/gpu/archives.mjs');
await buildCommand(process.argv[1] + '/test/gpu');
copyData(process.argv[1]);
await pretraining('./test/gpu/README.md').writeCommand(process.argv[1]);
const unpacked = NEEDED.map((file) => ({ file }));
const packed = ['run.sh', 'unpack.sh', 'programs.deb', 'command.deb', ...SYSTEM_PACKAGES.map((name) => 'packages/' + name + '_1_amd64.deb')].map((file) => ({ file }));
const without = (list, text) => list.filter(({ file }) => !file.includes(text));
const missing = {
  none: missingIn({ unpacked, packed }),
  worker: missingIn({ unpacked: without(unpacked, 'worker.js'), packed }),
  loader: missingIn({ unpacked, packed: without(packed, 'libvulkan1') }),
};
const archived = arOf([{ name: 'a', data: Buffer.from('odd') }, { name: 'b', data: Buffer.from('even') }]).toString();
console.log(JSON.stringify({ FIXTURES, PACKAGES, missing, archived }));
`;

describe('the bundle', () => {
  let folder: string;
  let bundle: Bundle;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'gpu-bundle-'));
    const args = ['--input-type=module', '-e', PROGRAM, folder];
    bundle = JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' })) as Bundle;
  }, 240_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  it('names what it lacks', () => {
    expect(bundle.missing).toEqual({
      none: [],
      worker: ['test/gpu/worker.js'],
      loader: ['packages/libvulkan1_'],
    });
  });

  it('brings the conversations that the parts ask for, and every part names its own one', () => {
    expect(bundle.FIXTURES).toEqual([...FAMILIES]);
    for (const quick of [true, false]) {
      const names = partsOf(quick).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => name.startsWith('golden'))).toHaveLength(2 * FAMILIES.length);
    }
  });

  it.each([
    ['test/gpu', ['main.js', 'worker.js']],
    ['pretraining', ['main.js', 'thread.js', 'worker.js']],
  ])('asks Node in %s for nothing that is not in it', (command, entries) => {
    const files = readdirSync(join(folder, command));
    expect(files).toEqual(expect.arrayContaining(entries));
    const asked = files.flatMap((file) => {
      const text = readFileSync(join(folder, command, file), 'utf8');
      return [...text.matchAll(/\brequire\("([^".][^"]*)"\)/g)].map(([, name]) => name);
    });
    const others = [...new Set(asked)].filter((name) => !name.startsWith('node:') && !isBuiltin(name));
    expect(others.length).toBeGreaterThan(0);
    expect(others.filter((name) => !bundle.PACKAGES.includes(name))).toEqual([]);
  });

  const environment = { ...process.env, NODE_PATH: join(root, 'node_modules') };
  const command = (): string => join(folder, 'test/gpu/main.js');

  it('is a command that lists its parts', () => {
    const list = (...flags: string[]): string[] =>
      execFileSync(process.execPath, [command(), '--list', ...flags], { encoding: 'utf8', env: environment })
        .trim()
        .split('\n');
    expect(list()).toEqual(partsOf(false).map(({ name }) => name));
    expect(list('--quick', '--only', 'of two layers, cpu')).toEqual(['figures of two layers, cpu']);
  });

  it('has the stages of pre-training, without a browser', () => {
    const main = join(folder, 'pretraining/main.js');
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env: environment, cwd: folder });
    expect(run('read', '--help').stdout).toContain('--screens <file>');
    const { status, stderr } = run('record', '--out', join(folder, 'screens'));
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining('this bundle has no browser: use --screens'),
    ]);
  });

  /** The output of a part, run by the bundled command alone. */
  function linesOf(...args: string[]): Promise<Line[]> {
    const child = fork(command(), ['--part', folder, 'true', ...args], { env: environment, silent: true });
    const lines: Line[] = [];
    let errors = '';
    child.stderr!.on('data', (text: Buffer) => (errors += text.toString()));
    child.on('message', (line) => lines.push(line as Line));
    return new Promise((resolve, reject) => {
      child.on('close', (code) => (code === 0 ? resolve(lines) : reject(new Error(errors))));
    });
  }

  it.each(['golden', 'step'])('finds all that the part %s reads', async (kind) => {
    const lines = await linesOf(kind, 'smolvlm-a', 'cpu');
    expect(lines).toEqual([expect.objectContaining({ kind: 'check', variant: 'cpu', wrong: null })]);
    expect(isWell(lines)).toBe(true);
  });

  it('says why a part fails', async () => {
    await expect(linesOf('golden', 'nothing', 'cpu')).rejects.toThrow(/nothing.expected\.json/);
    await expect(linesOf('golden', 'smolvlm-a', 'gpu')).rejects.toThrow('no part "golden smolvlm-a gpu"');
  });

  it('is packed as deb(5) says', () => {
    const member = (name: string, size: number, data: string): string =>
      `${name.padEnd(16)}${'0'.padEnd(12)}${'0'.padEnd(6)}${'0'.padEnd(6)}${'100644'.padEnd(8)}${String(size).padEnd(10)}\`\n${data}`;
    expect(bundle.archived).toBe(`!<arch>\n${member('a', 3, 'odd\n')}${member('b', 4, 'even')}`);
  });
});
