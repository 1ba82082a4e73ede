import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';
import type { Results } from '../test/webgpu/main';

const root = join(__dirname, '../../..');
const trained = 'qwen3-vl-a';
/** Families that cover the graph differences; few, because a software driver is slow. */
const families = [
  'qwen2-5-vl-b',
  'qwen3-vl-moe-a',
  'llava-onevision-c',
  'idefics2-b',
  'smolvlm-a',
  'internvl-b',
  'gemma3-a',
];

interface Expected {
  logprobs: number[];
  greedy_ids: number[];
}

describe('an engine on WebGPU with a Vulkan driver in software', () => {
  let found: Results;

  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), 'webgpu-'));
    try {
      mkdirSync(join(folder, 'run'), { mode: 0o700 });
      found = run(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 900_000);

  /** Runs in a child process, because the variables that choose the device must be set at its start. */
  function run(folder: string): Results {
    const programs = ['testkit/run-ts.cjs', 'engine/test/webgpu/main.ts'].map((path) =>
      join(root, 'libs', path),
    );
    execFileSync(process.execPath, [...programs, folder, trained, ...families], {
      env: { ...process.env, ...softwareVulkan(join(folder, 'run')) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    return JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8')) as Results;
  }

  function expectedOf(name: string): Expected {
    return JSON.parse(
      readFileSync(join(root, 'test/golden/fixtures', name, 'expected.json'), 'utf8'),
    ) as Expected;
  }

  function largestGap(values: readonly number[], expected: readonly number[]): number {
    expect(values).toHaveLength(expected.length);
    return Math.max(...values.map((value, i) => Math.abs(value - expected[i])));
  }

  it('gives the log-probabilities of the reference', () => {
    const { logprobs } = expectedOf(trained);
    for (const { golden } of [found.gpu, found.whole])
      expect(largestGap(golden, logprobs.slice(-golden.length))).toBeLessThan(1e-4);
  });

  it('takes the training step that the CPU takes, layer by layer and as one graph', () => {
    const { cpu, gpu, whole } = found;
    for (const step of [gpu, whole]) {
      expect(Math.abs(step.loss - cpu.loss)).toBeLessThan(1e-4);
      expect(Math.abs(step.gradNorm / cpu.gradNorm - 1)).toBeLessThan(1e-3);
      expect(largestGap(step.after, cpu.after)).toBeLessThan(1e-3);
      expect(largestGap(step.after, step.before)).toBeGreaterThan(0.01);
    }
  });

  it('takes another step that the CPU takes, from a checkpoint as well, and answers as it does', () => {
    const { cpu, gpu } = found;
    expect(largestGap(gpu.twice, cpu.twice)).toBeLessThan(2e-3);
    expect(largestGap(gpu.again, gpu.twice)).toBeLessThan(1e-5);
    expect(largestGap(gpu.twice, gpu.after)).toBeGreaterThan(0.01);
    expect(gpu.answers).toEqual(cpu.answers);
  });

  it.each(families)('gives the log-probabilities and the greedy tokens of the reference, %s', (name) => {
    const expected = expectedOf(name);
    const { logprobs, greedy } = found.families[name];
    expect(largestGap(logprobs, expected.logprobs)).toBeLessThan(1e-4);
    expect(greedy).toEqual(expected.greedy_ids.slice(0, greedy.length));
    expect(greedy.length).toBeGreaterThan(0);
  });

  it('says of a driver without fp16 what to do', () => {
    expect(found.withoutHalf).toMatch(/has no fp16: hold weights as fp32, and compute in fp32$/);
  });

  it('keeps its caches as they are kept on the host', () => {
    const { host, device } = found.caches;
    expect(host).toHaveLength(10);
    expect(device).toEqual(host);
  });

  it('feeds weights, gradients, moments and caches from the memory of the device', () => {
    const { sampling, training } = found.residency;
    expect(sampling).toEqual(expect.arrayContaining(['token_ids', 'past_bias', 'image_features']));
    expect(training).toEqual(
      expect.arrayContaining(['token_ids', 'targets', 'learning rate', 'image_features']),
    );
    const resident = /\.weight$|^past_(key|value)|^new_|^from\d+$/;
    expect([...sampling, ...training].filter((name) => resident.test(name))).toEqual([]);
  });
});
