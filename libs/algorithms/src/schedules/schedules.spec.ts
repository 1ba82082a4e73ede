import type { Schedule, ScheduleContext } from '@ui-rl/plugin-kit';
import { constant } from './constant';
import { cosine } from './cosine';
import { DecayOptions } from './warmup';
import { linear } from './linear';

function factorsOf(
  component: { create(options: DecayOptions, context: ScheduleContext): Schedule },
  options: Partial<DecayOptions>,
  totalSteps: number,
  steps: number[],
): number[] {
  const schedule = component.create(Object.assign(new DecayOptions(), options), { totalSteps });
  return steps.map((step) => schedule.factor(step));
}

describe('learning rate schedules', () => {
  it.each([
    ['constant', constant, [2, 4, 6, 8, 8, 8, 8, 8]],
    ['linear', linear, [2, 4, 6, 8, 8, 4, 0, 0]],
    ['cosine', cosine, [2, 4, 6, 8, 8, 4, 0, 0]],
  ] as const)('%s with warm-up', (_name, component, expected) => {
    const found = factorsOf(component, { warmup_steps: 4 }, 12, [0, 1, 2, 3, 4, 8, 12, 20]);
    found.forEach((factor, i) => expect(8 * factor).toBeCloseTo(expected[i], 9));
  });

  it('falls slowly first along a cosine, and ends at the wanted fraction', () => {
    expect(factorsOf(cosine, {}, 4, [1])[0]).toBeCloseTo(0.853553, 5);
    expect(factorsOf(linear, { final_fraction: 0.2 }, 4, [9])[0]).toBeCloseTo(0.2, 9);
  });

  it('needs to know the end of the run', () => {
    expect(() => factorsOf(linear, {}, 0, [0])).toThrow(
      'schedule linear reaches its end at training.max_steps, which is 0 (no limit): give a number above 0',
    );
  });

  it('does not fall in a run that ends within its warm-up', () => {
    expect(factorsOf(cosine, { warmup_steps: 8 }, 2, [0, 1])).toEqual([1 / 8, 2 / 8]);
  });
});
