import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';
import type { Results } from '../test/webgpu.main';

let results: Results;

beforeAll(() => {
  const dir = mkdtempSync(join(tmpdir(), 'pretraining-webgpu-'));
  try {
    mkdirSync(join(dir, 'run'), { mode: 0o700 });
    const programs = [join(__dirname, '../../testkit/run-ts.cjs'), join(__dirname, '../test/webgpu.main.ts')];
    // The variables that choose the device must be set when the process starts.
    execFileSync(process.execPath, [...programs, dir], {
      env: { ...process.env, ...softwareVulkan(join(dir, 'run')) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    results = JSON.parse(readFileSync(join(dir, 'results.json'), 'utf8')) as Results;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}, 600_000);

test.each(['reading', 'answering'] as const)('%s on WebGPU gives the weights of the CPU', (stage) => {
  const { cpu, webgpu } = results[stage];
  cpu.norms.forEach((norm, step) => expect(webgpu.norms[step] / norm).toBeCloseTo(1, 2));
  cpu.losses.forEach((losses, step) => {
    for (const [name, loss] of Object.entries(losses)) {
      expect(webgpu.losses[step][name]).toBeCloseTo(loss, 2);
    }
  });
  for (const [name, values] of Object.entries(cpu.weights)) {
    const gap = Math.max(...values.map((value, index) => Math.abs(value - webgpu.weights[name][index])));
    // A step changes a weight by 0.01. Where a gradient is almost zero, AdamW amplifies rounding.
    expect([name, gap]).toEqual([name, expect.closeTo(0, 2)]);
  }
});
