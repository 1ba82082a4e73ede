// The two small tasks of the learning table, as anybody would write tasks for pages of their own.
const { join } = require('node:path');

const NAMES = ['Alarm', 'Carl', 'Dora', 'Emma', 'Fire', 'River'];

const shows = (screen) => ({
  kind: 'browser',
  options: { page: 'screens', viewport: { width: 160, height: 224 }, reset: { screen } },
});

/** One answer decides: on which tile the name is. */
const named = {
  kind: 'task-source',
  name: 'named',
  description: 'tap the named one of six tiles, in one answer',
  // For both: a page belongs to one component.
  pages: { screens: join(__dirname, 'screens') },
  create: () => ({
    load: () =>
      NAMES.map((name) => ({
        id: `tap_${name.toLowerCase()}`,
        description: `Tap ${name}`,
        maxSteps: 1,
        environment: shows('named'),
        checks: [{ path: 'tapped', operator: 'equals', value: name }],
      })),
  }),
};

/** Three answers in a row decide, and what they were worth is known after the last one. */
const steps = {
  kind: 'task-source',
  name: 'steps',
  description: 'go through two steps, then save: what is earned is earned at the end',
  create: () => ({
    load: () => [
      {
        id: 'save_note',
        // The sentence of which the shipped model makes least: it presses anything, and does not give up at once.
        description: 'Tap note',
        maxSteps: 5,
        environment: shows('steps'),
        checks: [{ path: 'saved', operator: 'equals', value: 2 }],
      },
    ],
  }),
};

module.exports.components = [named, steps];
