import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';

const root = join(__dirname, '../../..');
const fixtures = join(root, 'test/golden/fixtures');
const fixture = join(fixtures, 'qwen3-vl-a');
/** What differs in the graphs of the families; Qwen3-VL itself is trained and answers above. A driver in software takes its time. */
const families = ['qwen2-5-vl-b', 'qwen3-vl-moe-a', 'llava-onevision-c', 'idefics2-b', 'smolvlm-a'];

interface Step {
  before: number[];
  after: number[];
  loss: number;
  gradNorm: number;
}

interface Result extends Step {
  twice: number[];
  again: number[];
  answers: number[][];
}

describe('an engine on WebGPU with a Vulkan driver in software', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'webgpu-'));
    mkdirSync(join(folder, 'run'), { mode: 0o700 });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The device is chosen by variables that must be set when a process starts. */
  function run(program: string, ...args: string[]): void {
    const paths = [join(root, 'libs/testkit/run-ts.cjs'), join(root, 'libs/engine/test', program)];
    execFileSync(process.execPath, [...paths, ...args], {
      env: { ...process.env, ...softwareVulkan(join(folder, 'run')) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  function read(name: string): unknown {
    return JSON.parse(readFileSync(join(folder, name), 'utf8'));
  }

  function largestGap(found: readonly number[], expected: readonly number[]): number {
    expect(found).toHaveLength(expected.length);
    return Math.max(...found.map((value, i) => Math.abs(value - expected[i])));
  }

  describe('that trains', () => {
    let cpu: Result;
    let gpu: Result;
    /** As one graph; checkpoints and answers are as they are layer by layer. */
    let whole: Step;

    beforeAll(() => {
      run('one-step.ts', 'qwen3-vl-a', 'cpu', 'on', 'everything', folder);
      run('one-step.ts', 'qwen3-vl-a', 'webgpu', 'on', 'everything', folder);
      run('one-step.ts', 'qwen3-vl-a', 'webgpu', 'off', 'a step', folder);
      cpu = read('cpu-on.json') as Result;
      gpu = read('webgpu-on.json') as Result;
      whole = read('webgpu-off.json') as Step;
    }, 600_000);

    it('gives the log-probabilities of the reference', () => {
      const path = join(fixture, 'expected.json');
      const { logprobs } = JSON.parse(readFileSync(path, 'utf8')) as { logprobs: number[] };
      for (const { before } of [gpu, whole])
        expect(largestGap(before, logprobs.slice(-before.length))).toBeLessThan(1e-4);
    });

    it('takes the training step that the CPU takes, layer by layer and as one graph', () => {
      for (const step of [gpu, whole]) {
        expect(Math.abs(step.loss - cpu.loss)).toBeLessThan(1e-4);
        expect(Math.abs(step.gradNorm / cpu.gradNorm - 1)).toBeLessThan(1e-3);
        expect(largestGap(step.after, cpu.after)).toBeLessThan(1e-3);
        expect(largestGap(step.after, step.before)).toBeGreaterThan(0.01);
      }
    });

    it('takes another step that the CPU takes, from a checkpoint as well, and answers as it does', () => {
      expect(largestGap(gpu.twice, cpu.twice)).toBeLessThan(2e-3);
      expect(largestGap(gpu.again, gpu.twice)).toBeLessThan(1e-5);
      expect(largestGap(gpu.twice, gpu.after)).toBeGreaterThan(0.01);
      expect(gpu.answers).toEqual(cpu.answers);
    });
  });

  describe('for the golden conversation of', () => {
    let found: Record<string, { logprobs: number[]; greedy: number[] }>;

    beforeAll(() => {
      run('golden-on-device.ts', families.join(), 'webgpu', join(folder, 'golden.json'));
      found = read('golden.json') as typeof found;
    }, 600_000);

    it.each(families)('%s gives the log-probabilities and the greedy tokens of the reference', (name) => {
      const path = join(fixtures, name, 'expected.json');
      const expected = JSON.parse(readFileSync(path, 'utf8')) as { logprobs: number[]; greedy_ids: number[] };
      expect(largestGap(found[name].logprobs, expected.logprobs)).toBeLessThan(1e-4);
      const { greedy } = found[name];
      expect(greedy).toEqual(expected.greedy_ids.slice(0, greedy.length));
      expect(greedy.length).toBeGreaterThan(0);
    });
  });

  it('keeps its caches as they are kept on the host', () => {
    run('kv-caches.ts', join(folder, 'caches.json'));
    const { host, device } = read('caches.json') as Record<'host' | 'device', number[][]>;
    expect(host).toHaveLength(7);
    expect(device).toEqual(host);
  }, 120_000);

  it('feeds weights, gradients, moments and caches from the memory of the device', () => {
    run('residency.ts', fixture, join(folder, 'residency.json'));
    const { sampling, training } = read('residency.json') as Record<'sampling' | 'training', string[]>;
    expect(sampling).toEqual(expect.arrayContaining(['token_ids', 'past_bias', 'image_features']));
    expect(training).toEqual(
      expect.arrayContaining(['token_ids', 'targets', 'learning rate', 'image_features']),
    );
    const resident = /\.weight$|^past_(key|value)|^new_|^from$/;
    expect([...sampling, ...training].filter((name) => resident.test(name))).toEqual([]);
  }, 120_000);
});
