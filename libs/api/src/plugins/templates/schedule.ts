import type { Template } from '../template';

export const schedule: Template = {
  type: 'ScheduleComponent',
  options: 'warmup: number;',
  description: 'Rises to the peak, then falls with the square root of the steps.',
  members: `
  options: {
    warmup: { type: 'integer', default: 10, atLeast: 1, description: 'steps until the peak' },
  },
  // totalSteps, which the second argument has, is 0 for a run without a limit of steps.
  create: ({ warmup }) => ({
    factor: (step) => Math.min((step + 1) / warmup, Math.sqrt(warmup / (step + 1))),
  }),`,
  test: `
test('rises to 1, then falls', () => {
  const { factor } = component.create({ warmup: 4 }, { totalSteps: 100 });
  assert.deepEqual([0, 1, 2, 3].map(factor), [0.25, 0.5, 0.75, 1]);
  assert.equal(factor(15), 0.5);
});`,
  choice: 'training: { schedule: { name: NAME, warmup: 20 } }',
};
