import { planMicroBatches, type RowSize } from './micro-batches';

function row(length: number, ...images: string[]): RowSize {
  return {
    tokenIds: new Array<number>(length).fill(1),
    images: images.map((key) => ({ key, grid: [1, 4, 5] })),
  };
}

describe('micro-batches', () => {
  it('put rows of similar length together and keep to rows and padded tokens', () => {
    const rows = [row(10), row(3), row(9), row(4)];
    expect(planMicroBatches(rows, { rows: 2 })).toEqual([
      [1, 3],
      [2, 0],
    ]);
    expect(planMicroBatches(rows, { rows: 9, tokens: 20 })).toEqual([
      [1, 3],
      [2, 0],
    ]);
  });

  it('count a screenshot that rows share once', () => {
    const rows = [row(5, 'a'), row(5, 'a'), row(5, 'b'), row(5, 'c')];
    expect(planMicroBatches(rows, { patches: 40 })).toEqual([[0, 1, 2], [3]]);
  });

  it('give a row that is too large a separate pass, and lose none', () => {
    expect(planMicroBatches([row(500), row(2)], { tokens: 100 })).toEqual([[1], [0]]);
  });

  it('make at least as many passes as asked for', () => {
    const rows = Array.from({ length: 8 }, () => row(4));
    expect(planMicroBatches(rows, {}, 4)).toHaveLength(4);
    expect(planMicroBatches(rows.slice(0, 2), {}, 4)).toHaveLength(2);
  });
});
