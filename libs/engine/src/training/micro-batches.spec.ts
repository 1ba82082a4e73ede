import type { ProcessedImage } from '@ui-rl/models';
import { planMicroBatches } from './micro-batches';
import type { TrainSample } from '../../test/token-types';

function sample(length: number, ...images: string[]): TrainSample {
  return {
    tokenIds: new Array<number>(length).fill(1),
    images: images.map((key) => ({ key, grid: [1, 4, 5] }) as unknown as ProcessedImage),
    mask: new Array<number>(length).fill(1),
    advantages: 1,
  };
}

describe('micro-batches', () => {
  it('put samples of similar length together and keep to rows and padded tokens', () => {
    const samples = [sample(10), sample(3), sample(9), sample(4)];
    expect(planMicroBatches(samples, { rows: 2 })).toEqual([
      [1, 3],
      [2, 0],
    ]);
    expect(planMicroBatches(samples, { rows: 9, tokens: 20 })).toEqual([
      [1, 3],
      [2, 0],
    ]);
  });

  it('count a screenshot that samples share once', () => {
    const samples = [sample(5, 'a'), sample(5, 'a'), sample(5, 'b'), sample(5, 'c')];
    expect(planMicroBatches(samples, { patches: 40 })).toEqual([[0, 1, 2], [3]]);
  });

  it('give a sample that is too large alone a pass of its own, and lose none', () => {
    expect(planMicroBatches([sample(500), sample(2)], { tokens: 100 })).toEqual([[1], [0]]);
  });

  it('make at least as many passes as asked for', () => {
    const samples = Array.from({ length: 8 }, () => sample(4));
    expect(planMicroBatches(samples, {}, 4)).toHaveLength(4);
    expect(planMicroBatches(samples.slice(0, 2), {}, 4)).toHaveLength(2);
  });
});
