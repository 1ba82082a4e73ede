import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';
import type { ManyWeights } from '../../test/webgpu/many-weights';

const libs = join(__dirname, '../../..');

describe('an optimizer over as many weights as a large adapter has, on WebGPU', () => {
  let found: ManyWeights;

  // A child process, because the variables that choose the device must be set at its start.
  beforeAll(() => {
    const runtimeDir = mkdtempSync(join(tmpdir(), 'steps-'));
    try {
      const programs = ['testkit/run-ts.cjs', 'engine/test/webgpu/many-weights.ts'].map((path) =>
        join(libs, path),
      );
      const output = execFileSync(process.execPath, programs, {
        env: { ...process.env, ...softwareVulkan(runtimeDir) },
        stdio: ['ignore', 'pipe', 'inherit'],
        maxBuffer: 2 ** 26,
      });
      found = JSON.parse(output.toString()) as ManyWeights;
    } finally {
      rmSync(runtimeDir, { recursive: true, force: true });
    }
  }, 600_000);

  it('takes the steps that the CPU takes', () => {
    const { gpu, cpu } = found;
    expect(gpu).toHaveLength(cpu.length);
    expect(Math.max(...gpu.map((value, i) => Math.abs(value - cpu[i])))).toBeLessThan(1e-5);
  });

  it('runs three sessions per step: the norm, the step, and one transfer of all new weights', () => {
    expect(found.runs.step).toBe(3);
  });

  it('reads its state for a checkpoint in one transfer', () => {
    expect(found.runs.arrays).toBe(1);
  });

  it('reads tensors of several numbers of axes in one transfer, and others beside them', () => {
    const { sent, found: values, dims, runs } = found.mixed;
    expect(values).toEqual(sent);
    expect(dims).toEqual([[], [1, 2, 3], [3], [2], [2, 1]]);
    // Each float16 tensor has its own: this driver cannot compute with them.
    expect(runs).toBe(3);
  });
});
