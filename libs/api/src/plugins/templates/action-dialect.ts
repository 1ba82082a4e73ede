import type { Template } from '../template';

export const actionDialect: Template = {
  type: 'ActionDialectComponent',
  types: { test: ['Action'] },
  description: 'An answer is "click X Y" in pixels of the screenshot, or "done".',
  members: `
  create: () => ({
    // Never throws: what cannot be read is a value, with what the next prompt tells the policy.
    parse(text, { screenshot }) {
      const answer = text.trim();
      if (answer === 'done') return { ok: true, actions: [{ action: 'finish', success: true }] };
      const found = /^click ([0-9]{1,5}) ([0-9]{1,5})$/.exec(answer);
      if (found === null) {
        const span = { start: 0, end: text.length, text };
        return { ok: false, reason: 'no_action', span, correction: 'Answer "click X Y" or "done", and nothing else.' };
      }
      const x = Math.min(Number(found[1]), screenshot.width - 1);
      const y = Math.min(Number(found[2]), screenshot.height - 1);
      return { ok: true, actions: [{ action: 'click', x, y }] };
    },
    format(actions) {
      const [action] = actions;
      if (actions.length === 1 && action.action === 'click') return 'click ' + action.x + ' ' + action.y;
      if (actions.length === 1 && action.action === 'finish') return 'done';
      throw new RangeError('NAME has no words for ' + JSON.stringify(actions));
    },
    describe: ({ screenshot }) =>
      'Answer "click X Y", with X below ' + screenshot.width + ' and Y below ' + screenshot.height + ', or "done".',
    // Nothing else is sampled with rollout.constrain_actions; parse reads all of it.
    grammar: () => '(click [0-9]{1,5} [0-9]{1,5}|done)',
  }),`,
  test: `
const sizes = { screenshot: { width: 160, height: 224 }, modelImage: { width: 80, height: 112 } };
const dialect = component.create({}, {});
const answers/*ts : [string, Action][]*/ = [
  ['click 10 200', { action: 'click', x: 10, y: 200 }],
  ['done', { action: 'finish', success: true }],
];

test('what it writes it reads', () => {
  for (const [answer, action] of answers) {
    assert.equal(dialect.format([action], sizes), answer);
    assert.deepEqual(dialect.parse(answer, sizes), { ok: true, actions: [action] });
    assert.match(answer, new RegExp('^(' + dialect.grammar?.(sizes) + ')$'));
  }
});

test('what is no action is a value that says how to do better', () => {
  for (const text of ['', 'click', 'click 1 2 3', 'I click 1 2']) {
    const parsed = dialect.parse(text, sizes);
    assert.equal(parsed.ok, false);
    assert.match(JSON.stringify(parsed), /click X Y/);
  }
});

test('what it has no words for is refused', () => {
  assert.throws(() => dialect.format([{ action: 'wait', seconds: 1 }], sizes), RangeError);
});`,
  choice: 'model: { name: small, action_format: NAME }',
};
