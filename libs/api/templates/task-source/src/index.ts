import { join } from 'node:path';
import type { TaskSourceComponent } from '@ui-rl/plugin-kit';

interface Options {
  limit: number;
}

const component: TaskSourceComponent<Options> = {
  kind: 'task-source',
  name: 'my-component',
  description: 'Counting on a page.',
  options: {
    limit: { type: 'integer', default: 3, atLeast: 1, atMost: 9, description: 'tasks at most' },
  },
  // A page is a folder with an index.html. Page names must be unique among all sources.
  pages: { 'my-component': join(__dirname, '..', 'page') },
  create: ({ limit }) => ({
    load: () =>
      Array.from({ length: limit }, (_, index) => ({
        id: 'count_to_' + (index + 2),
        description: 'Count to ' + (index + 2),
        maxSteps: 12,
        environment: {
          kind: 'browser',
          options: { page: 'my-component', viewport: { width: 160, height: 224 } },
        },
        checks: [{ path: 'count', operator: 'equals', value: index + 2 }],
      })),
  }),
};

export default component;
