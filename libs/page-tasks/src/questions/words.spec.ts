import type { ScreenTruth } from '@ui-rl/page-generator';
import { Random } from '@ui-rl/random';
import { wordQuestions } from './words';

/** Lines of text, with characters 6 pixels wide and lines 12 pixels high; spaces are gaps. */
function showing(...lines: string[]): ScreenTruth {
  const characters = lines.flatMap((line, row) =>
    Array.from(line).flatMap((text, column) =>
      text === ' ' ? [] : [{ text, box: [4 + 6 * column, 2 + 12 * row, 6, 10] as const }],
    ),
  );
  return { width: 160, height: 96, characters, elements: [] };
}

const asked = (truth: ScreenTruth) => wordQuestions(truth, new Random(3), { count: 9, split: 'training' });

test('asks for each word that is on the screen once, and clicks in its middle', () => {
  const questions = asked(showing('Save as', 'Open'));
  expect(new Set(questions.map(({ target: [box] }) => String(box)))).toEqual(
    new Set(['34,2,12,10', '4,14,24,10', '4,2,24,10']),
  );
  const open = questions.find(({ goal }) => goal.includes('"Open"'))!;
  expect(open.action).toEqual({ action: 'click', x: 16, y: 19 });
});

test('does not ask for words that are there twice, or for single characters', () => {
  expect(asked(showing('Yes Yes', 'x no')).map(({ target: [box] }) => box)).toEqual([[16, 14, 12, 10]]);
});

test('asks for no more questions than wanted', () => {
  const truth = showing('one two three', 'four five');
  expect(wordQuestions(truth, new Random(1), { count: 2, split: 'training' })).toHaveLength(2);
});
