import type { ActionDialectComponent } from '@ui-rl/plugin-kit';

const component: ActionDialectComponent = {
  kind: 'action-dialect',
  name: 'my-component',
  description: 'An answer is "click X Y" in pixels of the screenshot, or "done".',
  create: () => ({
    // Never throws: an unreadable answer is a value. The next prompt shows its correction to the policy.
    parse(text, { screenshot }) {
      const answer = text.trim();
      if (answer === 'done') return { ok: true, actions: [{ action: 'finish', success: true }] };
      const found = /^click ([0-9]{1,5}) ([0-9]{1,5})$/.exec(answer);
      if (found === null) {
        const span = { start: 0, end: text.length, text };
        return {
          ok: false,
          reason: 'no_action',
          span,
          correction: 'Answer "click X Y" or "done", and nothing else.',
        };
      }
      const x = Math.min(Number(found[1]), screenshot.width - 1);
      const y = Math.min(Number(found[2]), screenshot.height - 1);
      return { ok: true, actions: [{ action: 'click', x, y }] };
    },
    format(actions) {
      const [action] = actions;
      if (actions.length === 1 && action.action === 'click') return 'click ' + action.x + ' ' + action.y;
      if (actions.length === 1 && action.action === 'finish') return 'done';
      throw new RangeError('my-component cannot express ' + JSON.stringify(actions));
    },
    describe: ({ screenshot }) =>
      'Answer "click X Y", with X below ' +
      screenshot.width +
      ' and Y below ' +
      screenshot.height +
      ', or "done".',
    // With rollout.constrain_actions the policy samples only matches. parse must accept all of them.
    grammar: () => '(click [0-9]{1,5} [0-9]{1,5}|done)',
  }),
};

export default component;
