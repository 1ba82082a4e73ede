// Child process of a spec: attention in blocks and its gradients, on WebGPU and on the CPU.
import { blockAttention } from '../src/nn/block-attention';
import { B, d, evaluate, G, K, random } from './block-attention';

const T = 300;

async function main(): Promise<void> {
  const feeds = {
    q: random([B, K, G, T, d], 1),
    k: random([B, K, T, d], 2),
    v: random([B, K, T, d], 3),
    weights: random([B, K, G, T, d], 4),
  };
  const options = { size: 128, causal: true, biased: false };
  const [gpu, cpu] = [
    await evaluate(blockAttention, { ...options, device: 'webgpu' }, feeds),
    await evaluate(blockAttention, options, feeds),
  ];
  const gaps = ['context', 'dq', 'dk', 'dv'].map((name) => {
    const [found, expected] = [gpu, cpu].map((each) => each[name].data as Float32Array);
    const gap = found.reduce((most, x, i) => Math.max(most, Math.abs(x - expected[i])), 0);
    return [name, found.length === expected.length ? gap : Infinity];
  });
  process.stdout.write(JSON.stringify(Object.fromEntries(gaps)));
}

void main();
