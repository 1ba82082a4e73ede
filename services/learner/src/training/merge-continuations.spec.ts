import { join } from 'node:path';
import { LocalEngine } from '@ui-rl/engine';
import type { Datum } from '@ui-rl/plugin-kit';
import { mergeContinuations, type MergedData } from './merge-continuations';

const modelDir = join(__dirname, '../../../../test/golden/fixtures/qwen3-vl-a/model');

/** A turn with its prompt and answer, whose tokens have these advantages. */
function turn(prompt: number[], answer: number[], advantage: number, changes: Partial<Datum> = {}): Datum {
  const tokens = [...prompt, ...answer.slice(0, -1)];
  const at = (value: (index: number) => number) =>
    Float32Array.from(tokens, (_, place) =>
      place < prompt.length - 1 ? 0 : value(place - prompt.length + 1),
    );
  return {
    modelInput: { chunks: [{ type: 'text', tokens }] },
    targetTokens: [...prompt.slice(1), ...answer],
    weights: at(() => 0.1),
    temperature: 1,
    lossInputs: {
      advantages: at(() => advantage),
      sample_logprobs: at((index) => -1 - index),
      old_logprobs: at((index) => -1 - index),
    },
    ...changes,
  };
}

/** @param episodes of each turn */
function merge(turns: readonly Datum[], episodes: readonly string[]): MergedData {
  const sampledFrom = ({ weights, targetTokens }: Datum): number => {
    const place = Array.from(weights).findIndex((weight) => weight > 0);
    return place < 0 ? targetTokens.length - 1 : place;
  };
  const places = turns.map((each, index) => ({ rolloutId: episodes[index], first: sampledFrom(each) }));
  return mergeContinuations(turns, places);
}

const first = turn([5, 6, 7], [8, 9], 1);
const second = turn([5, 6, 7, 8, 9, 10, 11], [12, 13, 14], -1);
const third = turn([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [16], 0.5);

it('merges turns that continue one another token by token, and leaves the others apart', () => {
  const cases: [Datum[], string[], number[]][] = [
    [
      [first, second, third],
      ['a', 'a', 'a'],
      [0, 0, 0],
    ],
    // Tokenized differently, cut, of another episode, sampled at another temperature.
    [
      [first, turn([5, 6, 7, 8, 10], [1], 1)],
      ['a', 'a'],
      [0, 1],
    ],
    [
      [second, turn([10, 11, 12, 13, 14], [1], 1)],
      ['a', 'a'],
      [0, 1],
    ],
    [
      [first, second],
      ['a', 'b'],
      [0, 1],
    ],
    [
      [first, { ...second, temperature: 0.5 }],
      ['a', 'a'],
      [0, 1],
    ],
    // The same prompt again: the longer answer begins with the one that was cut, but was not sampled after it.
    [
      [first, turn([5, 6, 7], [8, 9, 10, 11], 1)],
      ['a', 'a'],
      [0, 1],
    ],
    // The next prompt contains only a part of the answer.
    [
      [second, turn([5, 6, 7, 8, 9, 10, 11, 12], [13, 14, 15], 1)],
      ['a', 'a'],
      [0, 1],
    ],
    // Two interleaved conversations of one episode.
    [
      [first, turn([1, 2], [3], 1), second, turn([1, 2, 3, 4], [5], 1)],
      ['a', 'a', 'a', 'a'],
      [0, 1, 0, 1],
    ],
  ];
  for (const [data, episodes, owners] of cases) expect(merge(data, episodes).owners).toEqual(owners);
});

it('looks at pictures, not at the number of their places', () => {
  const image = (sha256: string, tokens: number) => ({ type: 'image' as const, sha256, tokens });
  const shows = (sha256: string, more: number[], targets: number[]): Datum => ({
    modelInput: { chunks: [image(sha256, 2), { type: 'text', tokens: [5, ...more] }] },
    targetTokens: targets,
    weights: targets.map(() => 0),
  });
  const owners = (next: string) =>
    merge([shows('a', [], [9, 5, 6]), shows(next, [6, 7], [9, 5, 6, 7, 8])], ['e', 'e']).owners;
  expect(owners('a')).toEqual([0, 0]);
  expect(owners('b')).toEqual([0, 1]);
});

it('keeps for each token what its distribution was cut to', () => {
  const cut = (datum: Datum, token: number): Datum =>
    Object.assign(
      { ...datum },
      { keptTokens: Array.from(datum.weights, (weight) => (weight > 0 ? [token] : [])) },
    );
  const { data } = merge([cut(first, 1), cut(second, 2)], ['a', 'a']);
  const { keptTokens } = data[0] as unknown as { keptTokens: number[][] };
  expect(keptTokens).toEqual([[], [], [1], [1], [], [], [2], [2], [2]]);
});

it('changes neither the loss nor the gradients nor what is known of each token', async () => {
  const lora = { rank: 4, alpha: 8, targets: 'all-linear', dropout: 0, vision: false, rslora: false };
  const engine = await LocalEngine.start({
    modelDir,
    models: [{ name: 'policy', role: 'policy', trainable: { mode: 'lora', lora } }],
    maxRows: 4,
    maxSequence: 64,
    deterministic: true,
    seed: 1,
    threads: 1,
    device: 'cpu',
  });
  try {
    const turns = [first, second, third];
    const { data, owners } = merge(turns, ['a', 'a', 'a']);
    expect(data).toHaveLength(1);
    const pass = async (each: readonly Datum[]) => {
      const request = { model: 'policy', data: each, loss: { name: 'ppo', clip_low: 0.2, clip_high: 0.2 } };
      const { metrics, logprobs } = await engine.forwardBackward(request);
      const step = await engine.optimStep({
        model: 'policy',
        optimizer: { name: 'adamw' },
        learningRate: 0,
        maxGradNorm: 0,
      });
      return { loss: metrics.loss, norm: step.metrics.grad_norm, logprobs };
    };
    const apart = await pass(turns);
    const together = await pass(data);
    expect(together.loss).toBeCloseTo(apart.loss, 5);
    expect(Math.abs(together.norm - apart.norm)).toBeLessThan(1e-4 * apart.norm);
    apart.logprobs.forEach((own, index) => {
      const merged = together.logprobs[owners[index]];
      own.forEach((logprob, place) => {
        if (!Number.isNaN(logprob)) expect(merged[place]).toBeCloseTo(logprob, 5);
      });
    });
  } finally {
    await engine.stop();
  }
});
