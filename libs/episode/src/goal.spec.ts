import { goalOf } from './goal';

const task = { description: 'Click Test', goalFrom: 'page.goal' };

it('is the description', () => {
  expect(goalOf({ description: 'Open Camera' }, { goal: 'other' })).toBe('Open Camera');
});

it('is what the environment says, where the task says so', () => {
  expect(goalOf(task, { page: { goal: 'Click the button.' } })).toBe('Click the button.');
});

it.each([null, {}, { page: null }, { page: { goal: 3 } }, { page: { goal: ' ' } }])(
  'is not to be had from the state %j',
  (state) => {
    expect(() => goalOf(task, state)).toThrow(/reads its goal from "page\.goal" .* no text/);
  },
);
