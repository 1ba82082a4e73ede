import { grows, type TimedReading, trendsOf } from './soak';

/** Two hours with a reading every half minute. */
function readings(value: (hours: number, index: number) => number): TimedReading[] {
  return Array.from({ length: 240 }, (_, index) => {
    const at = index / 2;
    return { at, reading: { memory: value(at / 60, index) } };
  });
}

it('gives the growth by hour, without what comes before it has settled', () => {
  const { memory } = trendsOf(
    readings((hours) => (hours < 0.5 ? 500 * hours : 300 + 12 * hours)),
    30,
  );
  expect(memory.slope).toBeCloseTo(12);
  expect(memory.error).toBeCloseTo(0);
});

it('tells growth from noise', () => {
  const saw = (index: number): number => ((index * 37) % 40) - 20;
  const flat = trendsOf(
    readings((_, index) => 300 + saw(index)),
    30,
  );
  const leaking = trendsOf(
    readings((hours, index) => 300 + 30 * hours + saw(index)),
    30,
  );
  expect(grows(flat.memory)).toBe(false);
  expect(grows(leaking.memory)).toBe(true);
});

it('says nothing where there is too little to tell', () => {
  const { memory } = trendsOf(readings(() => 300).slice(0, 80), 30);
  expect(memory).toMatchObject({ slope: null, error: null });
  expect(grows(memory)).toBe(false);
});
