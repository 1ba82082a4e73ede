import { WeightSet } from '../weights/weight-set';
import { fromTensors, toTensors } from './optimizer-state';

it('reads what it has written of an optimizer that keeps something of some weights alone', () => {
  const data = (length: number) => new Float32Array(length).fill(1);
  const weights = new WeightSet(
    0,
    new Map([
      ['m', { shape: [2, 2], data: data(4) }],
      ['v', { shape: [2], data: data(2) }],
    ]),
  );
  const arrays = new Map<string, Record<string, Float32Array>>([
    ['m', { momentum: data(4) }],
    ['v', {}],
  ]);
  const saved = { name: 'own', steps: 1, tensors: toTensors(weights, arrays) };
  expect(fromTensors(weights, saved)).toEqual(arrays);
  const short = new Map([['m.momentum', { shape: [2], data: data(2) }]]);
  expect(() => fromTensors(weights, { ...saved, tensors: short })).toThrow(
    /holds 2 numbers for "m.momentum", expected 4/,
  );
});
