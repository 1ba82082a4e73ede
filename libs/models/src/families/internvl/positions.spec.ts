import { bicubicWeights } from './positions';

test('a picture of the size of the table takes each entry as it is', () => {
  const weights = bicubicWeights(3, 3, 3);
  const identity = Array.from({ length: 81 }, (_, index) => (index % 10 === 0 ? 1 : 0));
  expect(Array.from(weights)).toEqual(identity);
});

test('a table of one line is stretched as by interpolate of PyTorch', () => {
  // torch.nn.functional.interpolate(torch.tensor([[[[0., 1.], [0., 1.]]]]), (1, 4), mode='bicubic')
  const weights = bicubicWeights(1, 4, 2);
  const stretched = [0, 1, 2, 3].map((patch) => weights[patch * 4 + 1] + weights[patch * 4 + 3]);
  const expected = [-0.10546875, 0.2265625, 0.7734375, 1.10546875];
  stretched.forEach((value, index) => expect(value).toBeCloseTo(expected[index], 6));
});

test.each([
  [2, 5, 3],
  [7, 7, 4],
])('the weights of each patch of %i×%i over %i entries add up to 1', (rows, columns, side) => {
  const weights = bicubicWeights(rows, columns, side);
  for (let patch = 0; patch < rows * columns; patch++) {
    const own = weights.subarray(patch * side ** 2, (patch + 1) * side ** 2);
    expect(own.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 6);
  }
});
