import { Random } from '@ui-rl/random';
import { element, screenOf } from '../../test/hand-drawn';
import { readQuestions } from './read';
import { copyQuestions, keyQuestion, scrollQuestion } from './plain';

const screen = screenOf(
  element('heading', 'Trip', [10, 0, 60, 14], { interactive: false }),
  element('label', 'City', [10, 20, 30, 12], { interactive: false }),
  element('text field', 'City', [50, 20, 80, 14], { label: 2, value: 'Oslo', state: { focused: true } }),
  element('button', 'Save', [10, 80, 40, 16]),
  element('button', 'Cancel', [60, 80, 50, 16]),
);

const many = <T>(ask: (random: Random) => T[]): T[] =>
  Array.from({ length: 80 }, (_, seed) => ask(new Random(seed))).flat();

describe('questions that a text answers', () => {
  const asked = many((random) => readQuestions(screen, random, { count: 3, split: 'training' }));
  const answers = (test: RegExp) =>
    new Set(asked.filter(({ goal }) => test.test(goal)).map(({ answer }) => answer));

  it('ask for the value of a field', () => {
    expect(answers(/City/).has('Oslo')).toBe(true);
  });

  it('ask for a text by its kind or place', () => {
    expect(answers(/(the|only|one) (heading|title|headline)/i)).toContain('Trip');
    expect(answers(/(second|2nd) button|button (number|no\.) 2/i)).toEqual(new Set(['Cancel']));
  });

  it('ask for lists and numbers', () => {
    expect(answers(/^(count|how many|number).*buttons/i)).toEqual(new Set(['2']));
    expect(answers(/^(list|enumerate|name).*buttons/i)).toEqual(new Set(['Save, Cancel']));
  });

  it('never contain their answer', () => {
    const long = asked.filter(({ answer }) => answer.length > 2);
    expect(long.filter(({ goal, answer }) => goal.includes(answer))).toEqual([]);
  });
});

describe('orders without a place', () => {
  it('to type keep the text to the letter', () => {
    const texts = ['Ab c', 'x.', 'he said', '7%'];
    for (const { action, goal } of many((random) => copyQuestions(screen, texts, random, 'training'))) {
      expect(goal).toContain((action as { text: string }).text);
    }
  });

  it('to type name no field that lacks the focus', () => {
    const unfocused = screenOf(element('text field', 'City', [50, 20, 80, 14], { value: '' }));
    const goals = many((random) => copyQuestions(unfocused, ['a'], random, 'training')).map(
      ({ goal }) => goal,
    );
    expect(goals.length).toBeGreaterThan(10);
    expect(goals.filter((goal) => /city/i.test(goal))).toEqual([]);
  });

  it('to press a key never name what is written on the screen', () => {
    const remove = screenOf(
      element('button', 'Delete', [50, 20, 80, 14]),
      element('button', 'Home', [50, 40, 80, 14]),
    );
    const asked = many((random) => [keyQuestion(remove, random, 'training')]);
    expect(asked.filter(({ action }) => /delete|home/.test(JSON.stringify(action)))).toEqual([]);
    expect(asked.some(({ action }) => JSON.stringify(action).includes('enter'))).toBe(true);
  });

  it('to scroll say the direction', () => {
    for (const { goal, action } of many((random) => [scrollQuestion(screen, random, 'training')])) {
      expect(goal.toLowerCase()).toContain((action as { direction: string }).direction);
    }
  });
});
