import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';

const root = join(__dirname, '../../..');
const { environment, missing } = softwareVulkan();
const title = 'an engine on WebGPU with a Vulkan driver in software';
const describeIfPossible = missing.length === 0 ? describe : describe.skip;

interface Result {
  before: number[];
  after: number[];
  loss: number;
  gradNorm: number;
  answer: number[];
}

/** The device is chosen by variables that must be set when a process starts. */
function stepOn(device: 'cpu' | 'webgpu', fixture: string, folder: string): Result {
  const output = join(folder, `${device}.json`);
  const program = [join(root, 'libs/testkit/run-ts.cjs'), join(root, 'libs/engine/test/one-step.ts')];
  execFileSync(process.execPath, [...program, fixture, device, output], {
    env: { ...process.env, ...environment(join(folder, 'run')) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return JSON.parse(readFileSync(output, 'utf8')) as Result;
}

describeIfPossible(missing.length === 0 ? title : `${title}: skipped, ${missing.join(', ')}`, () => {
  const fixture = join(root, 'test/golden/fixtures/qwen3-vl-a');
  let folder: string;
  let cpu: Result;
  let gpu: Result;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'webgpu-'));
    mkdirSync(join(folder, 'run'), { mode: 0o700 });
    cpu = stepOn('cpu', fixture, folder);
    gpu = stepOn('webgpu', fixture, folder);
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('gives the log-probabilities of the reference', () => {
    const expected = JSON.parse(readFileSync(join(fixture, 'expected.json'), 'utf8')) as {
      logprobs: number[];
    };
    const reference = expected.logprobs.slice(-gpu.before.length);
    gpu.before.forEach((logprob, i) => expect(Math.abs(logprob - reference[i])).toBeLessThan(1e-4));
  });

  it('takes the training step that the CPU takes, and answers as it does', () => {
    expect(Math.abs(gpu.loss - cpu.loss)).toBeLessThan(1e-4);
    expect(Math.abs(gpu.gradNorm / cpu.gradNorm - 1)).toBeLessThan(1e-3);
    gpu.after.forEach((logprob, i) => expect(Math.abs(logprob - cpu.after[i])).toBeLessThan(1e-3));
    expect(gpu.after.some((logprob, i) => Math.abs(logprob - gpu.before[i]) > 0.01)).toBe(true);
    expect(gpu.answer).toEqual(cpu.answer);
  });
});
