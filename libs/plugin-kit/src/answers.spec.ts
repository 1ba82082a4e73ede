import { AnswerCheck } from '@ui-rl/contracts';
import { answerHolds, answerOf } from './answers';
import { readTask } from './tasks/read-task';
import { verify } from './verify';

type Fields = Omit<AnswerCheck, 'kind'>;
const check = (fields: Fields): AnswerCheck =>
  Object.assign(new AnswerCheck(), { kind: 'answer', ...fields });

describe('an answer', () => {
  it.each<[string, Fields, string, boolean]>([
    ['is equal without case, quotes and final period', { value: 'Paris' }, ' "PARIS." ', true],
    ['is equal in other spellings of a letter', { value: 'Café' }, 'cafe\u0301', true],
    ['is another text', { value: 'Paris' }, 'Paris, France', false],
    ['contains a text', { operator: 'contains', value: 'paris' }, 'It is  Paris, France', true],
    ['contains it across a line break', { operator: 'contains', value: 'new york' }, 'in New\nYork', true],
    ['is one of several', { operator: 'one_of', value: ['NYC', 'New York'] }, 'new york', true],
    ['is none of them', { operator: 'one_of', value: ['NYC', 'New York'] }, 'York', false],
    ['has a number with a currency', { operator: 'number', value: 1234.5 }, 'It costs $1,234.50.', true],
    ['has it twice', { operator: 'number', value: 3 }, '3 (that is 3)', true],
    ['has two numbers', { operator: 'number', value: 3 }, '3 or 4', false],
    ['has a number close enough', { operator: 'number', value: 10, within: 0.5 }, 'about 10.4 km', true],
    ['has one too far away', { operator: 'number', value: 10, within: 0.5 }, '10.6', false],
    ['has a negative number', { operator: 'number', value: -5 }, '−5 °C', true],
    ['has a number inside a name', { operator: 'number', value: 2 }, 'v2', false],
    ['has the items in another order', { operator: 'set', value: ['a b', 'c'] }, 'C, "A b"', true],
    ['has them as a list', { operator: 'set', value: ['a', 'b'] }, '- b\n- a', true],
    ['has them in words', { operator: 'set', value: ['tea', 'milk'] }, 'milk and tea', true],
    ['has them as JSON', { operator: 'set', value: ['a, b', '7'] }, '["a, b", 7]', true],
    ['has one too many', { operator: 'set', value: ['a'] }, 'a, b', false],
    ['matches an expression', { operator: 'regex', value: '^\\d{4}-\\d\\d$' }, '2026-11', true],
    ['does not match it', { operator: 'regex', value: '^\\d{4}-\\d\\d$' }, 'in 2026-11', false],
    ['is too long', { operator: 'contains', value: 'a' }, 'a'.repeat(10_001), false],
  ])('%s', (_, fields, answer, expected) => {
    expect(answerHolds(check(fields), answer)).toBe(expected);
  });

  it('is the message of the last action; without one no check holds', () => {
    const finish = (message?: string) => [
      { actions: [{ action: 'finish' as const, success: true, message }] },
    ];
    expect(answerOf(finish('7'))).toBe('7');
    expect(answerOf(finish())).toBeUndefined();
    expect(answerOf([...finish('7'), { actions: [{ action: 'wait', seconds: 1 }] }])).toBeUndefined();
    expect(answerOf([])).toBeUndefined();
    const checks = [check({ operator: 'contains', value: '7' })];
    expect(verify(checks, null, '7')).toBe(true);
    expect(verify(checks, null)).toBe(false);
    expect(verify([...checks, { path: 'a', operator: 'equals', value: 1 }], { a: 2 }, '7')).toBe(false);
  });

  it('cannot make an expression run for long', () => {
    const began = performance.now();
    const slow = check({ operator: 'regex', value: '^(a+)+$' });
    expect(() => answerHolds(slow, `${'a'.repeat(60)}!`)).toThrow(/did not end within 250 ms/);
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['an operator of other checks', { operator: 'at_least', value: 3 }, /operator/],
    [
      'a number as a text',
      { operator: 'number', value: '3' },
      /checks\.0\.value is "3", expected a number for operator number/,
    ],
    [
      'an empty list',
      { operator: 'set', value: [] },
      /checks\.0\.value is \[\], expected a list of 1 to 1000 texts for operator set/,
    ],
    [
      'a list to be equal to',
      { value: ['a'] },
      /checks\.0\.value is \["a"\], expected a text for operator equals/,
    ],
    [
      'a broken expression',
      { operator: 'regex', value: '(' },
      /checks\.0\.value is "\(", expected a regular expression/,
    ],
    ['no value', {}, /value/],
    ['a negative tolerance', { operator: 'number', value: 3, within: -1 }, /within/],
    ['a misspelt field', { value: 'a', withn: 1 }, /withn/],
  ])('is not compared with %s: the task is refused', (_, fields, expected) => {
    const task: Record<string, unknown> = {
      ...{ id: 't', description: 'How many?', environment: { kind: 'browser', options: { page: 'p' } } },
      checks: [{ kind: 'answer', ...fields }],
    };
    expect(() => readTask(task, 'tasks[0]')).toThrow(expected);
  });

  it('is part of a task that is read', () => {
    const task = {
      id: 't',
      description: 'How many?',
      checks: [{ kind: 'answer', operator: 'number', value: 3 }],
    };
    expect(readTask(task, 'tasks[0]').checks).toEqual(task.checks);
  });
});
