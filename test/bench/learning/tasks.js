// The two small tasks of the learning table, written as a user would write tasks for custom pages.
const { join } = require('node:path');

const NAMES = ['Alarm', 'Carl', 'Dora', 'Emma', 'Fire', 'River'];

const shows = (screen) => ({
  kind: 'browser',
  options: { page: 'screens', viewport: { width: 160, height: 224 }, reset: { screen } },
});

/** One answer decides: which tile has the name. */
const named = {
  kind: 'task-source',
  name: 'named',
  description: 'tap the named one of six tiles, in one answer',
  // For both task sources: a page belongs to one component.
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

/** Three consecutive answers decide, and the reward is known after the last one. */
const steps = {
  kind: 'task-source',
  name: 'steps',
  description: 'go through two steps, then save: what is earned is earned at the end',
  create: () => ({
    load: () => [
      {
        id: 'save_note',
        // The sentence to which the shipped model responds least: it clicks anything, and does not finish
        // immediately.
        description: 'Tap note',
        maxSteps: 5,
        environment: shows('steps'),
        checks: [{ path: 'saved', operator: 'equals', value: 2 }],
      },
    ],
  }),
};

module.exports.components = [named, steps];
