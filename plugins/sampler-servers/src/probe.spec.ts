import { faultOf, type Comparison } from './probe';

const noisy = (scores: readonly number[], noise: number): number[] =>
  scores.map((value, place) => value + (place % 2 === 0 ? noise : -noise));

const base = [-1, -2, -3, -4];
const before = base.map((value) => value + 0.1);
const adapter = base.map((value) => value + 0.2);

function compare(served: readonly number[], changes: Partial<Comparison> = {}): string | undefined {
  return faultOf({
    adapter: { name: 'new', scores: adapter },
    served,
    base: { scores: base, served: noisy(base, 0.01) },
    before: { name: 'old', scores: before, served: noisy(before, 0.01) },
    tolerance: 0.05,
    ...changes,
  });
}

it('accepts numbers of the adapter, up to rounding', () => {
  expect(compare(adapter)).toBeUndefined();
  expect(compare(noisy(adapter, 0.04))).toBeUndefined();
});

it('recognizes numbers of other weights by name', () => {
  expect(compare(noisy(base, 0.02))).toContain('those of the base model');
  expect(compare(noisy(before, 0.02))).toContain('those of old');
  expect(compare(noisy(adapter, 0.3))).toContain('of no weights known here');
});

it('numbers that do not move are a fault, though all differences are less than rounding', () => {
  const small = base.map((value) => value + 1e-3);
  const changes = { adapter: { name: 'new', scores: small }, before: undefined };
  expect(compare(noisy(base, 0.01), changes)).toContain('those of the base model');
  expect(compare(noisy(small, 0.01), changes)).toBeUndefined();
});

it('an adapter that changes nothing yet is proven by its numbers alone', () => {
  const changes = { adapter: { name: 'new', scores: base }, before: undefined };
  expect(compare(noisy(base, 0.01), changes)).toBeUndefined();
  expect(compare(noisy(base, 0.2), changes)).toContain('of no weights known here');
});
