import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tensor, type Tensor } from '@ui-rl/graph';
import { softwareVulkan } from '@ui-rl/testkit';
import { B, d, evaluate, G, K, plainAttention, random } from '../../test/block-attention';
import { blockAttention } from './block-attention';

describe.each([
  [1, 128],
  [127, 128],
  [128, 128],
  [129, 128],
  [300, 128],
  [300, 256],
  [300, 512],
])('attention over %s queries in blocks of %s', (T, size) => {
  test.each([
    [true, false],
    [false, false],
    [false, true],
    [true, true],
  ])('causal %s, biased %s: what all scores at once give', async (causal, biased) => {
    const S = causal ? T : T + 5;
    const feeds: Record<string, Tensor> = {
      q: random([B, K, G, T, d], 1),
      k: random([B, K, S, d], 2),
      v: random([B, K, S, d], 3),
      weights: random([B, K, G, T, d], 4),
    };
    if (biased) {
      const bias = new Float32Array(B * S);
      bias.fill(-1e9, S + Math.ceil(S / 2), 2 * S);
      feeds.bias = tensor('float32', bias, [B, 1, 1, S]);
    }
    const expected = await evaluate(plainAttention, { size, causal, biased }, feeds);
    const found = await evaluate(blockAttention, { size, causal, biased }, feeds);
    for (const name of ['context', 'dq', 'dk', 'dv']) {
      expect(found[name].dims).toEqual(expected[name].dims);
      const other = expected[name].data as Float32Array;
      const gap = (found[name].data as Float32Array).reduce(
        (most, x, i) => Math.max(most, Math.abs(x - other[i])),
        0,
      );
      expect([name, gap < 2e-5]).toEqual([name, true]);
    }
  });
});

test('attention in blocks gives the same on WebGPU, where its loop runs on the CPU', () => {
  const runtimeDir = mkdtempSync(join(tmpdir(), 'blocks-'));
  try {
    const programs = ['testkit/run-ts.cjs', 'models/test/blocks-on-webgpu.ts'];
    const output = execFileSync(
      process.execPath,
      programs.map((path) => join(__dirname, '../../..', path)),
      { env: { ...process.env, ...softwareVulkan(runtimeDir) }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const gaps = JSON.parse(output.toString()) as Record<string, number>;
    expect(Object.keys(gaps)).toEqual(['context', 'dq', 'dk', 'dv']);
    expect(Math.max(...Object.values(gaps))).toBeLessThan(2e-5);
  } finally {
    rmSync(runtimeDir, { recursive: true, force: true });
  }
}, 300_000);
