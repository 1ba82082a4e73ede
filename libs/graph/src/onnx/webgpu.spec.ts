import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { softwareVulkan } from '@ui-rl/testkit';
import { Graph, Session, type Tensor } from '../index';
import { buildCase, weightsOf } from '../../test/build-case';
import { ruleCases } from '../../test/rule-cases';
import { lower } from './lower';
import { toOnnx } from './serialize';
import { webgpuLowerings } from './webgpu';

/** Runs `model.onnx` of a folder with `feeds.json` on WebGPU and writes `results.json`, or the error. */
const childProgram = `
const { InferenceSession, Tensor } = require(process.argv[1]);
const { readFileSync, writeFileSync } = require('node:fs');
const folder = process.argv[2];
const feeds = JSON.parse(readFileSync(folder + '/feeds.json', 'utf8'));
for (const name in feeds) feeds[name] = new Tensor('float32', Float32Array.from(feeds[name].data), feeds[name].dims);
(async () => {
  const options = { executionProviders: ['webgpu', 'cpu'], logSeverityLevel: 3 };
  const session = await InferenceSession.create(folder + '/model.onnx', options);
  const found = await session.run(feeds);
  await session.release();
  const results = Object.entries(found).map(([name, tensor]) => [name, Array.from(tensor.data)]);
  writeFileSync(folder + '/results.json', JSON.stringify(Object.fromEntries(results)));
})();
`;

type Numbers = Record<string, number[]>;

/** Runs in a child process, because the variables that choose the driver must be set at its start. */
function runOnWebgpu(graph: Graph, feeds: Record<string, Tensor>): Numbers {
  const folder = mkdtempSync(join(tmpdir(), 'webgpu-'));
  try {
    mkdirSync(join(folder, 'run'), { mode: 0o700 });
    writeFileSync(join(folder, 'model.onnx'), toOnnx(lower(graph, webgpuLowerings)));
    const plain = Object.entries(feeds).map(([name, { data, dims }]) => [
      name,
      { data: Array.from(data as Float32Array), dims },
    ]);
    writeFileSync(join(folder, 'feeds.json'), JSON.stringify(Object.fromEntries(plain)));
    const env = { ...process.env, ...softwareVulkan(join(folder, 'run')) };
    execFileSync(process.execPath, ['-e', childProgram, require.resolve('onnxruntime-node'), folder], {
      env,
    });
    return JSON.parse(readFileSync(join(folder, 'results.json'), 'utf8')) as Numbers;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function runOnCpu(graph: Graph, feeds: Record<string, Tensor>): Promise<Numbers> {
  const session = await Session.create(graph, { threads: 1 });
  const found = await session.run(feeds);
  await session.release();
  return Object.fromEntries(
    Object.entries(found).map(([name, { data }]) => [name, Array.from(data as Float32Array)]),
  );
}

function largestError(found: readonly number[], expected: readonly number[]): number {
  return Math.max(...expected.map((value, i) => Math.abs(found[i] - value) / (1 + Math.abs(value))));
}

describe('on WebGPU with a Vulkan driver in software', () => {
  const cases = ruleCases.filter((ruleCase) => ruleCase.float16 !== true);
  const graph = new Graph('all cases');
  const feeds: Record<string, Tensor> = {};
  let [gpu, cpu]: Numbers[] = [];

  beforeAll(async () => {
    cases.forEach((ruleCase, i) => {
      const prefix = `case${i}.`;
      const built = buildCase(graph, ruleCase, { prefix });
      Object.assign(feeds, built.feeds, { [`${prefix}weights`]: weightsOf(built.y.shape.map(Number)) });
    });
    gpu = runOnWebgpu(graph, feeds);
    cpu = await runOnCpu(graph, feeds);
  }, 600_000);

  it.each(cases.map((ruleCase, i) => [ruleCase.name, i] as const))('%s', (_, i) => {
    const names = Object.keys(cpu).filter((name) => name.startsWith(`case${i}.`));
    expect(names.length).toBeGreaterThanOrEqual(2);
    for (const name of names)
      expect([name, largestError(gpu[name], cpu[name])]).toEqual([name, expect.closeTo(0, 3)]);
  });
});

describe('operations that WebGPU lacks', () => {
  it('are replaced by ones that give the same numbers', async () => {
    const cases = ruleCases.filter(({ name }) => /matmul|abs|logSoftmax|rmsNorm/i.test(name));
    const graph = new Graph('lowered');
    const feeds: Record<string, Tensor> = {};
    cases.forEach((ruleCase, i) => {
      const built = buildCase(graph, ruleCase, { prefix: `${i}.` });
      Object.assign(feeds, built.feeds, { [`${i}.weights`]: weightsOf(built.y.shape.map(Number)) });
    });
    const lowered = lower(graph, webgpuLowerings);
    const left = lowered.nodes.filter((node) => ['FusedMatMul', 'LogSoftmax', 'Sign'].includes(node.opType));
    expect(left).toEqual([]);
    const [expected, found] = [await runOnCpu(graph, feeds), await runOnCpu(lowered, feeds)];
    for (const name of Object.keys(expected))
      expect(largestError(found[name], expected[name])).toBeLessThan(1e-5);
  });
});
