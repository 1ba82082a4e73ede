/** The demo phone. */
export const environment = {
  kind: 'browser',
  options: { page: 'pocket', viewport: { width: 160, height: 224 } },
};

/** Two tasks of the demo phone: an agent that gives up at once solves the first, and not the second. */
export const STAY_OR_GO = [
  {
    id: 'stay',
    description: 'Stay',
    environment,
    checks: [{ path: 'screen', operator: 'equals', value: 'home' }],
  },
  {
    id: 'go',
    description: 'Go',
    environment,
    checks: [{ path: 'screen', operator: 'equals', value: 'settings' }],
  },
];
