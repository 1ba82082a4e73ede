// Tasks to switch on lamps in the world of http-environment.js.
module.exports.default = {
  kind: 'task-source',
  name: 'lamps',
  description: 'so many lamps are to be lit',
  options: { most: { type: 'integer', default: 3, atLeast: 1, description: 'lamps of the longest task' } },
  create: ({ most }) => ({
    load: () =>
      Array.from({ length: most }, (_, index) => ({
        id: `lamps_${index + 1}`,
        description: `Light ${index + 1}`,
        category: 'app',
        difficulty: 'easy',
        maxSteps: 4,
        environment: { kind: 'http-world', options: {} },
        checks: [{ path: 'lit', operator: 'at_least', value: index + 1 }],
      })),
  }),
};
