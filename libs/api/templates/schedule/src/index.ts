import type { ScheduleComponent } from '@ui-rl/plugin-kit';

interface Options {
  warmup: number;
}

const component: ScheduleComponent<Options> = {
  kind: 'schedule',
  name: 'my-component',
  description: 'Linear warm-up, then decay with the square root of the step.',
  options: {
    warmup: { type: 'integer', default: 10, atLeast: 1, description: 'warm-up steps' },
  },
  // The second argument has totalSteps; it is 0 for a run without a step limit.
  create: ({ warmup }) => ({
    factor: (step) => Math.min((step + 1) / warmup, Math.sqrt(warmup / (step + 1))),
  }),
};

export default component;
